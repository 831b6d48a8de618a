"""Which kinds of models can be used, and where are their checkpoints?

family                the protocol of a model family
registry              all families, and the family of a checkpoint folder
config                the configuration of a checkpoint, config.json
hub                   checkpoints by their ids on huggingface.co
endpoint_model        a model on a server
added_context         what the corpus adds to published models
catalog               the list that `cdesearch models` prints, and the languages of a model
export_folder         the folder of the ONNX export of a published model
meta_device           models whose parameters have shapes but no values
checkpoint_files      checks of files before a library opens them
model_card            licence and languages, as a model's card states them
published_fields      fields of a published config.json
published_weights     weights of other projects
transformers_library  networks that the library transformers computes
"""
