"""What every command that runs Spark shares: a session of its own, Ctrl-C, progress and how it is shown."""
