"""Is it better?

ask         measures passages and answers
beir        compares systems
report      the tables of `beir`
choose      compares constants on development data
confidence  measures whether confidences are calibrated, and whether they tell which questions are answered
several     compares several indexes that are searched as one with one index
staleness   how much worse an index that grew ranks than a new one
"""
