"""A worker whose parser behaves as on a hostile file: the first word of a `.txt` file selects how."""

import ctypes
import os
import sys
import threading
import time

from indexer.formats.code import PlainText
from indexer.formats.format import UnreadableError
from indexer.workers import worker

real, real_text = worker.read, PlainText.read


def hostile_read(file):
    behave(file)
    yield from real(file)


def hostile_text(form, file):
    behave(file)
    yield from real_text(form, file)


def behave(file):
    word = file.stream.read(40).decode("utf-8", "replace").partition(" ")[0].strip()
    file.stream.seek(0)
    if word == "HANG":
        threading.Event().wait()
    elif word in ("SPIN", "BUSY"):
        end = time.process_time() + 0.7
        while word == "SPIN" or time.process_time() < end:
            pass
    elif word == "CRASH":
        ctypes.string_at(0)
    elif word == "EAT":
        eaten = []
        while True:
            eaten.append(bytearray(50_000_000))
    elif word == "RECURSE":
        recurse()
    elif word == "EXIT":
        sys.exit("a parser that ends the process")
    elif word == "LEAVE":
        os._exit(3)
    elif word == "PRINT":
        os.write(1, b"\0" * 1_000_000)
        os.write(2, b"x" * 10_000)
        sys.stdout.write("noise")
    elif word == "REFUSE":
        raise UnreadableError("not for reading")


def recurse():
    recurse()


worker.read, PlainText.read = hostile_read, hostile_text
if __name__ == "__main__":
    worker.main()
