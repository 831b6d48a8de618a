"""Is it better?

adapted      what `cdesearch adapt` gains by labels
ask          measures passages and answers
beir         compares systems
choose       compares constants on development data
confidence   measures whether confidences are calibrated
lens         compares the statistics of a part of an index with a filter
measures     nDCG and other measures of rankings
reliability  calibration errors, their diagram, and the area under the ROC curve
report       tables and charts
several      compares several indexes that are searched as one with one index
staleness    how much worse an index that grew ranks than a new one
tune         what `cdesearch tune` gains and loses
"""
