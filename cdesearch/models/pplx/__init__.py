"""What do the published pplx-embed checkpoints compute? The library transformers runs the network."""
