"""A display of progress that collects the lines for the user."""

from cdesearch.progress import Silent


class Notes(Silent):
    def __init__(self):
        self.lines = []

    def note(self, text):
        self.lines.append(text)
