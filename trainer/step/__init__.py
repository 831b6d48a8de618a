"""How is the gradient of one step computed, in bounded memory?"""
