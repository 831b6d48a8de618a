"""Is it better?

ask        measures passages and answers
beir       compares systems
choose     compares constants on development data
measures   nDCG and other measures of rankings
report     tables and charts
staleness  how much worse an index that grew ranks than a new one
tune       what `cdesearch tune` gains and loses
"""
