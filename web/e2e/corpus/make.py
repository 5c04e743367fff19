"""Writes the corpus of documents that the converters are tested with.

make.py FOLDER [sample] writes the files and manifest.json, which says of each what
a reader must find in it, or why it cannot be read. An entry with "print" is a web page that
the test has a browser print to the PDF it names."""
import json
import pathlib
import random
import sys

import hostile
import office
import plain
import portable
from words import COLUMNS, ROWS, SENTENCES, TITLES


class Content:
    """What one document says: sections with a heading and paragraphs, and a table."""

    def __init__(self, lang, seed, paragraphs=3):
        pick = random.Random(f"{lang} {seed}")
        self.lang, self.rtl = lang, lang == "ar"
        self.sections = []
        for title in TITLES[lang]:
            body = [" ".join(pick.choices(SENTENCES[lang], k=4)) for _ in range(paragraphs)]
            self.sections.append((title, body))
        self.table = [COLUMNS[lang]] + [[row, str(pick.randint(100, 999)), str(pick.randint(1000, 9999))] for row in ROWS[lang]]

    def words(self, table=False):
        parts = [text for title, body in self.sections for text in [title, *body]]
        if table:
            parts += [cell for row in self.table for cell in row]
        return "\n".join(parts)

    def headings(self):
        return [title for title, _ in self.sections]


class Corpus:
    def __init__(self, folder):
        self.folder, self.entries, self.makers = folder, [], []

    def good(self, name, make, content, table=False, headings=True, tables=True, order=(), extra="", **more):
        """make(path, content) writes a file that must be read well."""
        entry = {"file": name, "text": content.words(table) + "\n" + extra, "headings": content.headings() if headings else [],
                 "table": content.table if table and tables else [], "order": list(order), **more}
        self.makers.append((entry, lambda path: make(path, content)))

    def bad(self, name, make, *reasons, absent=""):
        """make(path) writes a file that must end with one of the reasons."""
        self.makers.append(({"file": name, "reasons": list(reasons), "absent": absent}, make))

    def write(self, sample):
        for i, (entry, make) in enumerate(self.makers):
            if sample and not entry.pop("sample", False):
                continue
            entry.pop("sample", None)
            make(self.folder / entry.get("print", entry["file"]))
            self.entries.append(entry)
        (self.folder / "manifest.json").write_text(json.dumps(self.entries, ensure_ascii=False), encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(folder)
    for module in (office, portable, plain, hostile):
        module.add(corpus, Content)
    choose(corpus)
    corpus.write(sample=len(sys.argv) > 2)
    print(len(corpus.entries), "documents")


def choose(corpus):
    """Marks 40 for the sample: of the good ones each kind in changing languages, and of the
    bad ones those that are quick to make."""
    slow = {"rows.xlsx", "bomb-deflate.docx", "bomb-stream.pdf", "entries.docx", "bomb-deflate.odt"}
    kinds, bad = {}, 0
    for entry, _ in corpus.makers:
        if "reasons" in entry:
            if entry["file"] not in slow and bad < 13:
                entry["sample"] = True
                bad += 1
            continue
        kinds.setdefault(entry["file"].rsplit("-", 1)[0] + entry["file"].rsplit(".", 1)[1], []).append(entry)
    chosen = 0
    for i, entries in enumerate(kinds.values()):
        if chosen < 27:
            entries[i * 3 % len(entries)]["sample"] = True
            chosen += 1


main()
