"""What does a model use from the rest of the corpus, and how is it computed?"""
