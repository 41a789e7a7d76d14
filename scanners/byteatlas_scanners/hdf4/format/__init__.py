"""What is in the file: descriptors, elements in all their forms, Vgroups, Vdatas."""
