"""A join on a ring of nodes that share out every window by age (Wang & Rundensteiner 2009, "PSP").

`ring` is the ring, `node` one of its nodes, `slice` what a node holds of a stream, `message` what nodes send
each other, `join` what they work on, `predicate` what belongs together; `local` is a ring of one. Hosts carry
messages from each node to the next, in order; when, is theirs to say.
"""
