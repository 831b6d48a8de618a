"""Which systems are compared? Each answers all queries of a data set."""
