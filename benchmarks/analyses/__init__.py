"""What the paper asks of the context, asked of any model and data: a command a figure."""
