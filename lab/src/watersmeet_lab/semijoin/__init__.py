"""The experiments of Tran & Lee 2010: six ways to join two streams over a network, and plans of them."""
