"""What do the released CDE checkpoints compute?

family  how they are detected and opened
config  their configuration, from the published config.json files
folder  their files
model   their two stages
state   their weights by published name
"""
