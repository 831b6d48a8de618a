"""How well does the search find what it should, in the user's own files?

questions      test questions with their answers, and the file format of real questions
own_questions  makes test questions from the texts of an index
held_out       scores an answer without the words from which its question was made
ranking        the ranks of the answers by words, by vectors and by both
measures       measures of these ranks, with their uncertainty
"""
