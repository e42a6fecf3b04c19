"""Placements and PMJoins that `optimize.sites` is compared with (Zhou et al. 2006, Sect. 3 and 4).

Every placement has the shape of `stream_join_opt`, traffic in and a placement out, so they can be compared.
"""
