"""Joins between sites as plain data: how rows travel, and the parts that run at each site."""
