"""Where streams at different nodes meet, in which order and by which algorithm (Tran & Lee 2010, Sect. 4)."""
