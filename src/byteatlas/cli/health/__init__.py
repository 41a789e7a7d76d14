"""What is installed, and what a file or map needs."""
