"""At which nodes of a network a join is evaluated, and in which order (Zhou et al. 2006, Sect. 3.2).

Every file has one planner of the same shape, traffic in and a placement out, so they can be compared.
"""
