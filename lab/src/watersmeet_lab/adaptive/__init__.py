"""Rates that change in the middle of a run: every fixed order of the windows against one that adapts."""
