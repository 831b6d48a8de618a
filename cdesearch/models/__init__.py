"""Which networks are there, and where do their checkpoints come from?

family             the protocol of a model family
registry           all families, and to which a folder belongs
config             config.json of this project
hub                checkpoints by their ids on huggingface.co
catalog            the list that `cdesearch models` prints
checkpoint_files   checks of files before a library opens them
published_fields   fields of a published config.json
published_weights  weights that others have published
"""
