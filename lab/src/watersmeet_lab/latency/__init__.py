"""How long a batch takes, and a result waits, while four streams are live: ours and chained Spark joins."""
