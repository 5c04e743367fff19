"""Text in many encodings, pages, mail, notebooks, books."""
import email.message
import email.policy
import json
import zipfile
from html import escape

LANGS = ["en", "de", "zh", "ja", "ko", "ar", "ru"]
OLD = {"zh": "gb18030", "ja": "shift_jis", "ko": "euc_kr", "ru": "cp1251", "de": "cp1252", "ar": "cp1256"}


def add(corpus, content):
    for lang in LANGS:
        corpus.good(f"page-{lang}.html", lambda path, c: path.write_text(html(c, True), encoding="utf-8"), content(lang, "html"), table=True)
        corpus.good(f"book-{lang}.epub", book, content(lang, "epub"))
        corpus.good(f"rich-{lang}.rtf", rich, content(lang, "rtf"), headings=False)
        corpus.good(f"mail-{lang}.eml", mail, content(lang, "eml"), headings=False)
        corpus.good(f"notes-{lang}.ipynb", notebook, content(lang, "ipynb"))
        corpus.good(f"wide-{lang}.txt", lambda path, c: path.write_text(c.words(), encoding="utf-16"), content(lang, "utf16"), headings=False)
        if lang in OLD:
            corpus.good(f"old-{lang}.txt", lambda path, c: path.write_bytes(c.words().encode(OLD[c.lang], "ignore")), content(lang, "old", 6), headings=False)


def html(c, table):
    body = "".join(f"<h2>{escape(title)}</h2>" + "".join(f"<p>{escape(t)}</p>" for t in texts) for title, texts in c.sections)
    if table:
        body += "<table>" + "".join("<tr>" + "".join(f"<td>{escape(v)}</td>" for v in row) + "</tr>" for row in c.table) + "</table>"
    return f'<!doctype html><html lang="{c.lang}"><meta charset="utf-8"><body>{body}</body></html>'


def book(path, c):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr(zipfile.ZipInfo("mimetype"), "application/epub+zip")
        z.writestr("META-INF/container.xml", '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="b/o.opf"/></rootfiles></container>')
        items = "".join(f'<item id="c{i}" href="c{i}.xhtml" media-type="application/xhtml+xml"/>' for i in range(len(c.sections)))
        spine = "".join(f'<itemref idref="c{i}"/>' for i in range(len(c.sections)))
        z.writestr("b/o.opf", f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest><spine>{spine}</spine></package>')
        for i, (title, texts) in enumerate(c.sections):
            z.writestr(f"b/c{i}.xhtml", f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><h1>{escape(title)}</h1>'
                       + "".join(f"<p>{escape(t)}</p>" for t in texts) + "</body></html>")


def rich(path, c):
    def coded(s):
        return "".join(ch if ch < "\x80" else f"\\u{int.from_bytes(ch.encode('utf-16-le'), 'little', signed=True)}?" for ch in s)
    text = "".join(f"{{\\b {coded(title)}\\par}}" + "".join(coded(t) + "\\par " for t in texts) for title, texts in c.sections)
    path.write_text("{\\rtf1\\ansi\\uc1 " + text + "}", encoding="ascii")


def mail(path, c):
    m = email.message.EmailMessage(policy=email.policy.SMTP)
    m["Subject"] = c.sections[0][0]
    m.set_content("\n\n".join([t for _, texts in c.sections for t in texts] + [title for title, _ in c.sections[1:]]))
    m.add_alternative(html(c, False), subtype="html")
    path.write_bytes(m.as_bytes())


def notebook(path, c):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": [f"## {title}\n", "\n", "\n\n".join(texts)]} for title, texts in c.sections]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}), encoding="utf-8")
