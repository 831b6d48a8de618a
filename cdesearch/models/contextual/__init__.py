"""What does the contextual model of this project compute? Training and inference use the same code."""
