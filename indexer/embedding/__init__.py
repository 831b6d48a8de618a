"""How does every chunk get its vector?"""
