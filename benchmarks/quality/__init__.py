"""Is it better?

ask        measures passages and answers
beir       compares systems
choose     compares constants on development data
measures   nDCG and the significance of differences
report     tables and charts
staleness  how much worse an index that grew ranks than a new one
"""
