"""How does every chunk get its vector, each once and each with its document?"""
