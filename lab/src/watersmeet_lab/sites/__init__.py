"""What joins between sites really send: semijoins against whole rows, plans per value against one plan."""
