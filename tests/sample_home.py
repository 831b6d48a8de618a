"""A home folder with the files that the documentation searches."""

import csv
import json
import mailbox
import shutil
from email.message import EmailMessage
from pathlib import Path

from built import write_files
from pdf_pages import column, pdf_of

TEXTS = {
    "docs/guides/passwords.md": "---\nstatus: open\ndate: 2026-03-04\ntags: [infra]\n---\n# Passwords\n\n"
    "To reset a password, choose Forgotten and follow the link that you get by mail.",
    "docs/guides/sessions.md": "# Sessions\n\nSessions are kept for thirty days. Log in again afterwards.",
    "docs/readers.md": "# Who can read an index\n\nOnly the owner of an index can read the index.",
    "docs/releases.md": "# Releases\n\nThe release v1.4 fixes the reset of passwords.",
    "docs/dist/list.md": "# List\n\nA list that a program has written.",
    "docs/.github/policy.md": "# Policy\n\nReviews are needed for every change.",
    "docs/old/reset.md": "# Reset\n\nThe reset of a password by a text message is gone.",
    "notes/heating.md": "---\nstatus: open\ntags: [house]\n---\n# Heating\n\nWe decided to "
    "replace the boiler by a heat pump.",
    "notes/garden.md": "---\nstatus: done\ntags: [house]\n---\n# Garden\n\nThe apple tree was pruned in March.",
    "code/src/accounts.py": 'def hash_password(password, salt):\n    """Hash what a user typed."""\n'
    "    return scrypt(password, salt=salt, n=2**15)\n",
    "code/src/orders.py": "def total(order):\n    return sum(line.price * line.count for line in order)\n",
    "code/tests/test_accounts.py": "def test_hash_password():\n    assert hash_password('a', 'b') != 'a'\n",
}
MAILS = [
    ("Anna <anna@example.org>", "Bicycle", "2 Feb 2026", "The invoice for the bicycle is attached. It is 480 euros."),
    ("Ben <ben@example.org>", "Summer", "3 Mar 2026", "Shall we walk across the Alps in August?"),
]
PAPERS = [{"doi": "10.1/a", "abstract": "Bees find flowers by their colour."}, {"doi": "10.1/b", "abstract": "Tides."}]
PASSAGES = [{"book": "Atlas", "text": "The river is long."}, {"book": "Atlas", "text": "The hill is low."}]
ORDERS = [
    {"id": "1", "country": "Norway", "total": "120", "comment": "The parcel arrived wet, and the box was torn."},
    {"id": "2", "country": "Spain", "total": "40", "comment": "Quick delivery, many thanks."},
]


def write_home(home: Path) -> Path:
    """Write the files into the folder `home`, and return it."""
    write_files(home, TEXTS)
    shutil.copy(Path(__file__).parents[1] / "docs" / "fresh.md", home / "docs")
    for folder in ("mail", "papers"):
        (home / folder).mkdir()
    box = mailbox.mbox(home / "mail" / "archive.mbox")
    for sender, subject, day, text in MAILS:
        message = EmailMessage()
        message["From"], message["Subject"], message["Date"] = sender, subject, f"Mon, {day} 10:00:00 +0000"
        message.set_content(text)
        box.add(message)
    box.close()
    lines = ["How bees find flowers", "Honey bees see the colour of flowers,", "and dance to tell the others."]
    (home / "papers" / "bees.pdf").write_bytes(pdf_of([column(50, 700, lines)], title="How bees find flowers"))
    (home / "papers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PAPERS), encoding="utf-8")
    for name, rows in (("passages.csv", PASSAGES), ("orders.csv", ORDERS)):
        with (home / name).open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, rows[0])
            table.writeheader()
            table.writerows(rows)
    return home
