"""Is it better?

beir      compares systems
measures  nDCG and the significance of differences
report    tables and charts
"""
