"""Mail between buckets that run in different places: numbered, written whole or not at all, read once.

mailbox.py   what a transport has to do, and the one place where a mailbox is opened by its address
folder.py    a folder that all sites can reach
source.py    mail as a source of Spark
pairing.py   a checkpoint and a mailbox that belong together
"""
