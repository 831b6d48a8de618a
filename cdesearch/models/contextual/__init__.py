"""What does the contextual model of this project compute? Training and inference use the same code.

family        how it is detected and opened
model         both stages, and the checkpoint folder
second_stage  the network that reads the context
"""
