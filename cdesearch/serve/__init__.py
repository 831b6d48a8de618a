"""How do programs, browsers and agents ask a process that stays open?"""
