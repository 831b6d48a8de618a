"""Which data sets are there?

dataset         reads a BEIR folder, or half of its queries
domain          samples a training domain
download        finds or downloads a data set
long_documents  samples long documents in chunks
meetings        reads meetings with questions and labelled spans
published       the sizes and results that others have published
"""
