"""How does a run continue, report and measure itself?"""
