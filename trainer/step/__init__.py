"""What does one step teach, in bounded memory?"""
