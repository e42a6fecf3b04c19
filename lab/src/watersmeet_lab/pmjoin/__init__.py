"""The experiments of Zhou et al. 2006: where to join in a network, and a plan for each group of values."""
