"""Pages about what the verbs take and give."""
