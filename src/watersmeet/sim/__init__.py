"""The same joins in a simulated network: any number of sites, any latency, on a clock of its own."""
