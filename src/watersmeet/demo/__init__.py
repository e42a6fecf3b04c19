"""Demonstrations: real and generated streams, joined before your eyes and checked."""
