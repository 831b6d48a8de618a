"""Which library computes the networks, and on which device?

onnx               ONNX Runtime on a CPU
onnx_export        writes ONNX graphs from torch modules
onnx_import        the one import of onnxruntime, without its telemetry
torch              torch on a GPU or a CPU
endpoint           a server with an OpenAI-compatible embeddings API
"""
