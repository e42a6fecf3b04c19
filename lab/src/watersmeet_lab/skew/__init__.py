"""The skew benchmark: three streams of which half of all rows have one key, on one core and on two.

One key is one bucket, and one bucket is one core, until the rows of the key are spread over all of them.
"""
