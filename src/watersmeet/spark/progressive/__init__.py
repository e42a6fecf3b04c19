"""What joins larger than memory have of their own: their streams have to be ended.

finish.py   reading what is there, leaving end markers, waiting until all is found
sources.py  from how many sources of Spark a stream is read
"""
