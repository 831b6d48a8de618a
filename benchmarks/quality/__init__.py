"""Is it better?

ask        measures passages and answers
beir       compares systems
measures   nDCG and the significance of differences
report     tables and charts
staleness  what an index that grew loses against a new one
"""
