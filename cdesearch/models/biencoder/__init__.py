"""What does a published sentence-transformers folder compute? The library transformers runs the network.

family   how it is detected and opened
folder   what its files say: modules, pooling, prompts, length
network  the network of transformers, its pooling and dense layers as one torch module
"""
