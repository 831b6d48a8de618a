"""Is it better?

beir      systems side by side
measures  nDCG and the significance of differences
report    tables and pictures
"""
