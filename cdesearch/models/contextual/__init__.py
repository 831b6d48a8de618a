"""What does the contextual model of this project compute? Training and inference use the same code.

family        how it is detected and opened
model         both stages, and the checkpoint folder
second_stage  the network that reads the context
token_states  the states of the rarest tokens of a text, layer by layer
film          scale and shift of every layer from the statistics of a corpus
merge         merges similar rows of a large context
"""
