"""Policies of joins in bounded memory (Tao et al. 2005): what leaves memory, what is done in silence."""
