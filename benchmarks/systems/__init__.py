"""What is compared. Each system answers all queries of a data set."""
