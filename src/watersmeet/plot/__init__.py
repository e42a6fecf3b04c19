"""Charts: what is drawn as plain data in `chart`, and the pictures of it in `draw`."""
