"""Which data sets are there?

dataset   reads a BEIR folder, or half of its queries
samples   samples a training domain, or long documents in chunks
download  finds or downloads a data set
meetings  reads meetings with questions and labelled spans
"""
