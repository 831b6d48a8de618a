"""How does a network learn from texts alone, without queries?

pretrain          a whole run, from the recipe to the checkpoint
recipe            its settings
token_documents   the texts of a run as tokens
masked_learner    the kinds condenser and cocondenser
condenser         the network with its head, and its losses
spans             pieces of documents with masked words
sequence_learner  the kind diffusion
decoder_network   a network in the shape of Qwen3
"""
