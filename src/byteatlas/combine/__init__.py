"""Many virtual groups into one: plan, report conflicts, concatenate, merge."""
