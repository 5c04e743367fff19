"""Word, PowerPoint, Excel and Open Document files."""
import zipfile
from xml.sax.saxutils import escape

import docx
import openpyxl
import pptx
from pptx.util import Inches

LANGS = ["en", "de", "zh", "ja", "ko", "ar", "ru"]


def add(corpus, content):
    for lang in LANGS:
        for kind in ("text", "table", "list"):
            corpus.good(f"word-{kind}-{lang}.docx", lambda path, c, kind=kind: word(path, c, kind), content(lang, "docx" + kind), table=kind == "table")
        for kind in ("text", "table"):
            corpus.good(f"slides-{kind}-{lang}.pptx", lambda path, c, kind=kind: slides(path, c, kind), content(lang, "pptx" + kind, 1), table=kind == "table")
            corpus.good(f"sheet-{kind}-{lang}.xlsx", lambda path, c, kind=kind: sheets(path, c, kind), content(lang, "xlsx" + kind, 2), table=True, headings=False)
            corpus.good(f"open-{kind}-{lang}.odt", lambda path, c, kind=kind: open_text(path, c, kind), content(lang, "odt" + kind), table=kind == "table")
        corpus.good(f"open-{lang}.ods", open_sheet, content(lang, "ods", 1), table=True, headings=False)
        corpus.good(f"open-{lang}.odp", open_slides, content(lang, "odp", 1), headings=True)


def word(path, c, kind):
    d = docx.Document()
    for title, body in c.sections:
        d.add_heading(title, 1)
        for text in body:
            if kind == "list":
                d.add_paragraph(text, style="List Bullet")
                continue
            p = d.add_paragraph()
            half = len(text) // 2
            p.add_run(text[:half])
            p.add_run(text[half:]).bold = kind == "table"
    if kind == "table":
        t = d.add_table(rows=0, cols=len(c.table[0]))
        for row in c.table:
            for cell, text in zip(t.add_row().cells, row):
                cell.text = text
    d.save(path)


def slides(path, c, kind):
    show = pptx.Presentation()
    for title, body in c.sections:
        s = show.slides.add_slide(show.slide_layouts[1])
        s.shapes.title.text = title
        s.placeholders[1].text = "\n".join(body)
    if kind == "table":
        s = show.slides.add_slide(show.slide_layouts[6])
        t = s.shapes.add_table(len(c.table), len(c.table[0]), Inches(1), Inches(1), Inches(6), Inches(3)).table
        for i, row in enumerate(c.table):
            for j, text in enumerate(row):
                t.cell(i, j).text = text
    show.save(path)


def sheets(path, c, kind):
    book = openpyxl.Workbook()
    first = book.active
    for i, row in enumerate(c.table):
        first.append([int(v) if i and j and kind == "table" else v for j, v in enumerate(row)])
    for title, body in c.sections:
        s = book.create_sheet(title)
        for text in body:
            s.append([text])
    book.save(path)
    c.table = [list(map(str, row)) for row in c.table]


NAMES = ('xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
         'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
         'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"')


def opened(path, kind, body):
    media = "application/vnd.oasis.opendocument." + kind
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr(zipfile.ZipInfo("mimetype"), media)
        z.writestr("content.xml", f'<?xml version="1.0"?><office:document-content {NAMES} office:version="1.2"><office:body>{body}</office:body></office:document-content>')
        z.writestr("META-INF/manifest.xml", '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
                   f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{media}"/>'
                   '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>')


def grid(rows):
    cells = "".join("<table:table-row>" + "".join(f'<table:table-cell office:value-type="string"><text:p>{escape(v)}</text:p></table:table-cell>' for v in row)
                    + "</table:table-row>" for row in rows)
    return f'<table:table table:name="T1"><table:table-column table:number-columns-repeated="{len(rows[0])}"/>{cells}</table:table>'


def open_text(path, c, kind):
    body = "".join(f'<text:h text:outline-level="1">{escape(title)}</text:h>' + "".join(f"<text:p>{escape(t)}</text:p>" for t in texts) for title, texts in c.sections)
    opened(path, "text", f'<office:text>{body}{grid(c.table) if kind == "table" else ""}</office:text>')


def open_sheet(path, c):
    texts = [[title] for title, _ in c.sections] + [[t] for _, body in c.sections for t in body]
    opened(path, "spreadsheet", f"<office:spreadsheet>{grid(c.table)}{grid(texts)}</office:spreadsheet>")


def open_slides(path, c):
    pages = "".join(f'<draw:page draw:name="p"><draw:frame presentation:class="title"><draw:text-box><text:p>{escape(title)}</text:p></draw:text-box></draw:frame>'
                    f'<draw:frame><draw:text-box>{"".join(f"<text:p>{escape(t)}</text:p>" for t in body)}</draw:text-box></draw:frame></draw:page>' for title, body in c.sections)
    opened(path, "presentation", f"<office:presentation>{pages}</office:presentation>")
