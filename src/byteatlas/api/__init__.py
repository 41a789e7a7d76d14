"""The verbs of the library, a module for each group of them. ``byteatlas`` hands them on, each when it is first used.

A verb imports what it needs when it is called: scanning a file knows nothing of combining.
"""
