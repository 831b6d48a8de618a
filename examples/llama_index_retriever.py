"""A LlamaIndex retriever over a folder (pip install 'cdesearch[llama-index]').

python examples/llama_index_retriever.py FOLDER QUESTION
"""

import sys

if len(sys.argv) != 3:
    sys.exit(__doc__)

import cdesearch

try:
    from cdesearch.integrations.llama_index import CdesearchRetriever
except ModuleNotFoundError as error:
    sys.exit(str(error))

folder, question = sys.argv[1:]

# Builds the index, or brings it up to date.
cdesearch.build(folder)

# Pass the retriever to a RetrieverQueryEngine with the language model of your choice, or use its nodes directly.
retriever = CdesearchRetriever(folder, k=3)
for found in retriever.retrieve(question):
    print(f"{found.score:.2f}", found.node.metadata["source"], found.node.get_content().splitlines()[0])
