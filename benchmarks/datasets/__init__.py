"""Which data sets are there?

dataset    a BEIR folder, or half of its queries
download   data sets by path or by name
published  their published sizes and results
"""
