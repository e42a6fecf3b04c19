"""Two independent answers to every join, each written without a look at the other or at the product."""
