"""The two-stage contextual model in torch, shared by training and inference; `config` alone needs no torch."""
