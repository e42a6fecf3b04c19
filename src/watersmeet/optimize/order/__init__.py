"""Which windows an arriving row visits first: one optimizer per file, all of one signature."""
