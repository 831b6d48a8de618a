"""On what do the networks run?

onnx         ONNX Runtime on a CPU
onnx_import  the one import of onnxruntime, without its telemetry
torch        torch on a GPU or a CPU
"""
