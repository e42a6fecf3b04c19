"""Planning a ring of nodes that share out every window by age (Wang & Rundensteiner 2009).

`length` says how many nodes, `slicing` which node holds which ages.
"""
