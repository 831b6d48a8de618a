"""Is it better?

ask        measures passages and answers
beir       compares systems
measures   nDCG and the significance of differences
report     tables and charts
staleness  how much worse an index that grew ranks than a new one
"""
