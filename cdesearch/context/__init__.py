"""What is known of a corpus, and how is it computed?"""
