"""Which library computes the networks, and on which device?"""
