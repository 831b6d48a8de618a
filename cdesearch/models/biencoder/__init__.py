"""What does a published sentence-transformers folder compute? The library transformers runs the network."""
