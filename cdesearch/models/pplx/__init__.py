"""What do the published pplx-embed checkpoints compute? The library transformers runs the network.

family   how a checkpoint is detected and opened
folder   what its config.json says: shapes, and whether the chunks of a document are read together
network  Qwen3 in which every token reads all others, the mean of its states, and its rounding to whole numbers
"""
