"""What the tests share: random histories and the ways to run them."""
