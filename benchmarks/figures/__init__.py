"""What does the context do? The paper's figures."""
