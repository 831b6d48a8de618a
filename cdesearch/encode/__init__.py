"""How do texts become vectors?

load              loads a checkpoint as an encoder
encoder           prefixes, batches, contexts
corpus_context    the context of texts in memory
context_parts     fingerprint, whitening and null context for one model
forked            raises an error in a process that was forked from one that has searched or encoded
remote            a model on a server as an encoder
embedder          the model without an index, for programs that store vectors themselves
runtime           the protocol of the libraries that compute the networks
exports           exports of published models to ONNX, in the user's cache folder
chunk_windows     joins the chunks of a document, for models that read them together
length_batches    groups texts into batches of similar length
model_tokens      the tokens of texts, their batches, and checks of a model's tokenizer
token_states      the states of all tokens of a text
parallel          runs a network over several batches at the same time
tokenizer_limits  refuses tokenizers that make a text many times as long
"""
