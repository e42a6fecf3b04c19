"""Joins as files: `watersmeet run job.toml` and `watersmeet explain job.toml`."""
