"""The plan of a user's join between sites: where streams meet, in which order and by which algorithm.

`choose` compares the candidates by what they really send. Papers' planners, by their formulas, are in
`optimize.papers`.
"""
