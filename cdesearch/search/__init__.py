"""How does a query become a ranked list of hits?

options           the table of the options of a query, for all surfaces
request           one request, with its checks
searcher          an open index that answers requests, for any number of threads
together          searches several indexes as one, and merges their hits by confidence
reader            answers requests from one generation: candidates, scores, hits
nearest           searches for the chunks with the nearest vectors
lexical           searches for words, and for the parts of a query that are matched as a whole
exact             which parts these are: names of code, options, error codes and quoted phrases
word_forms        forms and spellings of words, and runs of words by which texts are compared
corpus_languages  the languages of an index and of a query, and which of them the model does not read
fusion            combines dense and lexical scores, with a registry of methods
confidence        how likely is it that a hit is relevant, and a query answered?
reranking         compares the best hits with the query token by token
explanation       why a chunk is a hit, as numbers that add up to its score
result            the result of a search
drift             how far a corpus has moved away from its context
documents         reads the stored texts without a query, and the text around a chunk
passages          fits hits into a budget of tokens, with neighbouring chunks joined
sentences         splits text into sentences, headings, table rows and code
fence             encloses passages for a language model
file_filter       which files a search covers: certain types and times of modification
path_filter       globs over paths, as they are typed and as an SQL condition
"""
