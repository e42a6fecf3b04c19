"""How long planning takes, and how close its predictions come to a run."""
