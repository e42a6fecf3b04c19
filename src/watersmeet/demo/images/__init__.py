"""Near-duplicate images of three cameras, found by a function that compares pixels."""
