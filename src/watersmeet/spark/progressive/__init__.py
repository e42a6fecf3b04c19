"""Joins in bounded memory on Spark.

control.py    a source of ticks, so that silence is noticed, and of end markers
processor.py  what happens in a bucket
finish.py     ending streams, and waiting until all is found
"""
