"""Joins between sites: parts of a join that run at different places and send each other packets.

`node` hosts the parts of one site. The one-way joins of Tran & Lee 2010 are `probe` (SP-S, SP-D), `ask`
(SM-S1), `pull` (SM-S2), `sieve` (SM-D1) and `offer` (SM-D2); the operators of Zhou et al. 2006 are `mjoin`
and `split`.
"""
