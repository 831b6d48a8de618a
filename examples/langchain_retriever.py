"""A LangChain retriever over a folder (pip install 'cdesearch[langchain]').

python examples/langchain_retriever.py FOLDER QUESTION
"""

import sys

if len(sys.argv) != 3:
    sys.exit(__doc__)

import cdesearch

try:
    from cdesearch.integrations.langchain import CdesearchRetriever
except ModuleNotFoundError as error:
    sys.exit(str(error))

folder, question = sys.argv[1:]

# Builds the index, or brings it up to date.
cdesearch.build(folder)

# A retriever is a runnable: use it as the first step of any chain.
retriever = CdesearchRetriever(folder=folder, k=3)
for document in retriever.invoke(question):
    print(document.metadata["source"], document.page_content.splitlines()[0])
