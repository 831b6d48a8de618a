"""What is an index on disk, and may it be believed?"""
