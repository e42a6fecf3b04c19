"""The experiments of Wang & Rundensteiner 2009: a ring that shares windows out by age, and its rivals."""
