"""In which languages are a corpus and a query written, and which of them does a model read?"""
