"""The progressive benchmark: two relations larger than memory arrive with silences between."""
