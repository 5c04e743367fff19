"""PDF: written here with fonts that every reader has, and printed by a browser."""
from html import escape

import pypdf
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, Table

FONTS = {"en": "Helvetica", "de": "Times-Roman", "zh": "STSong-Light", "ja": "HeiseiMin-W3", "ko": "HYSMyeongJo-Medium"}
PRINTED = ["en", "de", "zh", "ja", "ko", "ar", "ru"]


def add(corpus, content):
    for lang in FONTS:
        for kind in ("text", "table", "columns"):
            c = content(lang, "pdf" + kind, 8 if kind == "columns" else 3)
            corpus.good(f"pdf-{kind}-{lang}.pdf", lambda path, c, kind=kind: written(path, c, kind), c, table=kind == "table", order=ends(c))
    for lang in ("en", "zh"):
        c = content(lang, "owner")
        corpus.good(f"pdf-owner-{lang}.pdf", owned, c)
    for lang in PRINTED:
        # Browsers draw some fonts without their names, so that nobody can tell bold ones.
        bold = ["bold"] if lang in ("en", "de", "ru") else []
        for kind in ("article", "grid", "columns", "links", *bold):
            c = content(lang, "print" + kind, 6 if kind == "columns" else 3)
            corpus.good(f"print-{kind}-{lang}.pdf", lambda path, c, kind=kind: page(path, c, kind), c, table=kind == "grid", order=ends(c),
                        extra="", print=f"print-{kind}-{lang}.html", links=["https://example.org/harbour"] if kind == "links" else [])


def ends(c):
    """The titles stand in this order, whatever the columns."""
    return c.headings()


def written(path, c, kind):
    font = FONTS[c.lang]
    if "-" in font and c.lang in ("zh", "ja", "ko"):
        pdfmetrics.registerFont(UnicodeCIDFont(font))
    wrap = {"wordWrap": "CJK"} if c.lang in ("zh", "ja") else {}
    head = ParagraphStyle("head", fontName=font, fontSize=16, leading=20, spaceBefore=14, spaceAfter=8, **wrap)
    body = ParagraphStyle("body", fontName=font, fontSize=10, leading=14, spaceAfter=8, **wrap)
    story = []
    for title, texts in c.sections:
        story.append(Paragraph(title, head))
        story += [Paragraph(t, body) for t in texts]
    if kind == "table":
        story.append(Table([[Paragraph(v, body) for v in row] for row in c.table], colWidths=[150, 120, 120]))
    doc = BaseDocTemplate(str(path), pagesize=A4, invariant=1)
    w, h = A4
    frames = [Frame(50, 50, w - 100, h - 100)]
    if kind == "columns":
        frames = [Frame(50, 50, w / 2 - 60, h - 100), Frame(w / 2 + 10, 50, w / 2 - 60, h - 100)]
    doc.addPageTemplates([PageTemplate(frames=frames)])
    doc.build(story)


def owned(path, c):
    """Anyone may read it; only its owner may change it."""
    written(path, c, "text")
    w = pypdf.PdfWriter(clone_from=path)
    w.encrypt("", "owner", algorithm="AES-256-R5" if c.lang == "en" else "RC4-128")
    w.write(path)


def page(path, c, kind):
    style = "body{font:11pt/1.5 sans-serif}table{break-inside:avoid}td,th{padding:2pt 24pt 2pt 0;text-align:start}h2{font-size:16pt}"
    if c.lang == "ko":  # words that are divided at the end of a line cannot be told from two
        style += "body{word-break:keep-all}"
    if kind == "columns":
        style += "body{columns:2;column-gap:30pt}"
    if kind == "bold":  # headings as large as the text, only bold
        style += "h2{font-size:11pt;font-weight:bold}"
    out = []
    for title, texts in c.sections:
        out.append(f"<h2>{escape(title)}</h2>")
        for i, t in enumerate(texts):
            out.append(f'<p><a href="https://example.org/harbour">{escape(t)}</a></p>' if kind == "links" and i == 1 else f"<p>{escape(t)}</p>")
    if kind == "grid":
        out.append("<table>" + "".join("<tr>" + "".join(f"<td>{escape(v)}</td>" for v in row) + "</tr>" for row in c.table) + "</table>")
    path.write_text(f'<!doctype html><html lang="{c.lang}" dir="{"rtl" if c.rtl else "ltr"}"><meta charset="utf-8"><style>{style}</style>{"".join(out)}</html>', encoding="utf-8")
