"""Cost models of the papers, one file each: pure functions."""
