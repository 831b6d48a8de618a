"""Files read and cut in processes of their own, which a bad file may crash without harm."""
