"""Which data sets are there?"""
