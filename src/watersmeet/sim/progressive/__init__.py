"""Two relations over unreliable links into a memory too small for them, in virtual time (Tao et al. 2005)."""
