"""How do people search on a whole terminal, with results that change while they type?"""
