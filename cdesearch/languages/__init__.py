"""In which languages are a corpus and a query written, and which of them does a model read?

stop_words      the function words of each language
known           the languages that are told apart, with their names, scripts and stemmers
detection       the language of a text
compounds       words that are written together, and the vocabulary that tells which
shares          the languages of a corpus, and the full-text search that fits them
"""
