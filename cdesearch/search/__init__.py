"""How does a query become a ranked list of hits?

searcher          an open index that answers queries, for any number of threads
model_loader      loads the models that built the indexes, each of them once
reader            answers queries from one generation: candidates, scores, hits
several           searches several indexes as one
pooling           ranks the candidates of several indexes together
common_rarity     makes BM25 scores of several indexes comparable
query_vectors     encodes a query once for all indexes in the same context
nearest           searches for the chunks with the nearest vectors
lexical           searches for words, and for the parts of a query that are matched as a whole
exact             which parts these are: names of code, options, error codes and quoted phrases
arabic_forms      Arabic words with and without an article
spellings         other spellings of words, so that "resume" finds "résumé"
confidence        how likely is it that a hit is relevant, and a query answered?
fusion            combines dense and lexical scores, with a registry of methods
reranking         compares the best hits with the query token by token
explanation       why a chunk is a hit, as numbers that add up to its score
drift             how far a corpus has moved away from its context
corpus_languages  the languages of an index, and which of them its model does not read
documents         reads the stored texts without a query
passages          fits hits into a budget of tokens, with neighbouring chunks joined
surroundings      the text of a document around a chunk
sentences         splits text into sentences, headings, table rows and code
shingles          compares texts by runs of consecutive words
word_forms        whether two words are forms of one word
query_language    how much of a query is in a language that the model does not read
result            the result of a search
fence             lines around passages for a language model, which no document can forge
file_filter       which files a search covers: certain paths, types and times of modification
file_conditions   what such a filter means in one generation, as an SQL condition
path_filter       translates globs over paths into an SQL condition
"""
