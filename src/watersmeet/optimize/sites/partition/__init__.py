"""Different placements for different values of a join attribute (Zhou et al. 2006, Sect. 3.3).

A value may be frequent in one stream and rare in another, so the best place to join it differs from value to
value. Values are put into groups, and each group has a plan of its own.
"""
