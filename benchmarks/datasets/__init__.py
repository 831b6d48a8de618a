"""Which data sets are there?

dataset    reads a BEIR folder, or half of its queries
download   finds or downloads a data set
published  published sizes and results
"""
