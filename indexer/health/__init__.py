"""Is an index sound, and how is a damaged one repaired?"""
