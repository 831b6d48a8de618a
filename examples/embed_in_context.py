"""Embed texts in the context of a corpus, and store the vectors wherever you like.

python examples/embed_in_context.py
"""

from cdesearch import Embedder

documents = [
    "The heart pumps blood through the body.",
    "The heart of the city is its market square.",
    "Arteries carry blood away from the heart.",
    "The market opens at six in the morning.",
    "Veins carry blood back to the heart.",
    "Fish is sold at the northern end of the market.",
]
embedder = Embedder()

# The model reads a sample of the corpus once. Documents and queries are then embedded in the same context.
corpus = embedder.sample_context(documents)
vectors = embedder.encode(documents, prompt_name="document", dataset_embeddings=corpus)
query = embedder.encode("which vessels lead to the heart", prompt_name="query", dataset_embeddings=corpus)

scores = embedder.similarity(query, vectors)[0]
for index in scores.argsort()[::-1][:3]:
    print(f"{scores[index]:.3f}  {documents[index]}")
