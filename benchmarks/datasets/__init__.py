"""On which data is it measured?

dataset    a BEIR folder, checked
download   data sets by path or by name
published  their published sizes and results
"""
