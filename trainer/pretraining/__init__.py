"""How does a network learn from texts alone, without queries?

command            the command `pretrain`
pretrain           a whole run, from the recipe to the checkpoint
recipe             its settings
pretraining_run    the loop of a run
pretraining_state  its state on disk
learner            what every kind of pretraining offers to the run
masked_learner     the kinds condenser and cocondenser
sequence_learner   the kinds causal and diffusion
token_documents    the texts of a run as tokens
vocabulary         the special tokens of a model, and which tokens continue a word
spans              the spans of one step, with masked tokens
whole_words        which tokens are masked
condenser          the network with its head
masked_tokens      predicts masked tokens from states
head_file          the file of a head
span_contrast      the contrast of the spans of a document with those of others
span_passes        passes of spans through the network, with their losses of masked tokens
token_windows      sequences of one length
decoder_network    a network in the shape of Qwen3
next_tokens        the losses of causal and diffusion
"""
