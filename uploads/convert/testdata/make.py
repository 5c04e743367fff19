"""Writes documents with libraries of PyPI into the folder that is given:

    pip install openpyxl XlsxWriter PyExcelerate xlwt python-docx pypandoc_binary aspose-email-foss \
        weasyprint reportlab fpdf2
    python make.py made
"""

import datetime
import email.message
import email.policy
import os
import re
import subprocess
import sys
import zipfile

import docx
import fpdf
import openpyxl
import pyexcelerate
import pypandoc
import weasyprint
import xlsxwriter
import xlwt
from aspose.email_foss import msg
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from reportlab import platypus
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet

out = sys.argv[1]


def shrink(name):
    """Takes out of a document what its library's template has besides text."""
    with zipfile.ZipFile(path(name)) as a:
        parts = {n: a.read(n) for n in a.namelist() if "theme" not in n and "thumbnail" not in n and "Effects" not in n
                 and not n.startswith("customXml")}
    with zipfile.ZipFile(path(name), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as b:
        for n, data in parts.items():
            b.writestr(n, data)


def path(name):
    return os.path.join(out, name)


def repack(source, target, change):
    """Writes an archive again with parts renamed and changed."""
    with zipfile.ZipFile(path(source)) as a, zipfile.ZipFile(path(target), "w", zipfile.ZIP_DEFLATED) as b:
        for name in a.namelist():
            new, data = change(name, a.read(name).decode() if name.endswith((".xml", ".rels")) else a.read(name))
            b.writestr(new, data)


# Sheets.
book = openpyxl.Workbook()
s = book.active
s.title = "Kunden"
s.append(["PLZ", "Nr", "Summe", "Tag", "Text"])
s.append([1067, 42, "=SUM(A2:B2)", datetime.date(2026, 3, 9), "two\r\nlines_x0041_"])
s["A2"].number_format, s["B2"].number_format = "00000", "000"
s["F2"] = "=\"a\"&\"b\""
book.create_sheet("leer")
book.save(path("openpyxl.xlsx"))
repack("openpyxl.xlsx", "strings-elsewhere.xlsx", lambda name, data: (
    name.replace("xl/sharedStrings.xml", "xl/strings1.xml"),
    data if isinstance(data, bytes) else data.replace("/xl/sharedStrings.xml", "/xl/strings1.xml").replace('"sharedStrings.xml"', '"strings1.xml"')))
repack("openpyxl.xlsx", "prefixes.xlsx", lambda name, data: (name, data if name != "xl/workbook.xml" else
    data.replace(" r:id=", " rel:id=").replace("xmlns:r=", "xmlns:rel=").replace(
        'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"',
        'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:rel="http://schemas.openxmlformats.org/officeDocument/2006/relationships"', 1)
    .replace("<sheet xmlns:rel=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"", "<sheet")))
repack("openpyxl.xlsx", "small-letters.xlsx", lambda name, data: (name.lower(), data))
repack("openpyxl.xlsx", "backslashes.xlsx", lambda name, data: (name.replace("/", "\\"), data))
repack("openpyxl.xlsx", "no-references.xlsx", lambda name, data: (name, re.sub(r' r="[A-Z]*[0-9]+"', "", data) if "sheet1" in name else data))

book = xlsxwriter.Workbook(path("xlsxwriter.xlsx"))
s = book.add_worksheet("Rechnung")
s.write_row(0, 0, ["Wert", "Doppelt", "PLZ", "Dauer", "Formel"])
s.write(1, 0, 2.5)
s.write_formula(1, 1, "=A2*2")  # it writes 0 as the value
s.write(1, 2, 7, book.add_format({"num_format": "00000"}))
s.write(1, 3, 1.5, book.add_format({"num_format": "[h]:mm:ss"}))
s.write_formula(1, 4, "=A2+1", None, 3.5)
s.write_rich_string(2, 0, "fett ", book.add_format({"bold": True}), "und nicht")
book.close()
book = xlsxwriter.Workbook(path("xlsxwriter-inline.xlsx"), {"constant_memory": True, "date_1904": True})
s = book.add_worksheet()
s.write_row(0, 0, ["a", "b"])
s.write_datetime(1, 0, datetime.datetime(2026, 3, 9, 18, 0), book.add_format({"num_format": "dd.mm.yyyy hh:mm"}))
s.write_number(1, 1, 0.125, book.add_format({"num_format": "0.0%"}))
book.close()

book = pyexcelerate.Workbook()
book.new_sheet("Schnell", data=[["x", "y"], [1, datetime.datetime(2026, 3, 9)], ["ä", True]])
book.save(path("pyexcelerate.xlsx"))

book = xlwt.Workbook(encoding="utf-8")
s = book.add_sheet("Blatt")
for i, v in enumerate(["PLZ", "Tag", "Summe"]):
    s.write(0, i, v)
s.write(1, 0, 1067, xlwt.easyxf(num_format_str="00000"))
s.write(1, 1, datetime.date(2026, 3, 9), xlwt.easyxf(num_format_str="DD.MM.YYYY"))
s.write(1, 2, xlwt.Formula("1+1"))
s.write(2, 0, "日本")
book.save(path("xlwt.xls"))

# Texts under the names of old files.
page = ('<html xmlns:x="urn:schemas-microsoft-com:office:excel"><head><meta charset="utf-8"></head><body>'
        "<p>Stand: März</p><table><tr><th>Ort</th><th>Zahl</th></tr><tr><td rowspan=2>Zürich</td><td>1,5</td></tr>"
        "<tr><td>2</td></tr></table></body></html>")
open(path("page.xls"), "w").write(page)
open(path("page.doc"), "w", encoding="utf-16").write("<html><body><h1>Über</h1><p>Text</p></body></html>")
open(path("tabs-1252.xls"), "wb").write("Kürzel\tName\r\n007\tÉlise Çelik aus Besançon\r\n".encode("cp1252"))
open(path("tabs-1251.xls"), "wb").write("Имя\tГород\r\nИван Петров\tНовосибирск\r\n".encode("cp1251"))
open(path("semicolons.xls"), "wb").write("sep=;\r\nName;Summe\r\nZoë;1,50\r\n".encode("utf-8-sig"))
open(path("plain.doc"), "wb").write("Grüße aus Köln.\r\n\r\nZweiter Absatz.\r\n".encode("cp1252"))
archive = email.message.EmailMessage(policy=email.policy.SMTP)
archive["Subject"] = "Exported From Confluence"
archive.set_content("<html><body><h1>Seite</h1><p>café crème</p><table><tr><th>a</th></tr><tr><td>b</td></tr></table></body></html>",
                    subtype="html", cte="quoted-printable")
archive.make_related()
archive.add_related(b"\x89PNG", "image", "png", cid="<x>")
data = archive.as_bytes()
for name in ["wiki.doc", "wiki.xls", "wiki.mht"]:
    open(path(name), "wb").write(data)

# Mail of Outlook.
def message(unicode):
    m = msg.MapiMessage.create("Angebot für Zürich", "Guten Tag\r\n\r\nDie Größe passt.\r\n", unicode_strings=unicode)
    m.set_property(0x0C1A, 0x001F if unicode else 0x001E, "Zoë Müller")
    m.set_property(0x0C1F, 0x001F if unicode else 0x001E, "zoe@example.org")
    m.set_property(0x0E04, 0x001F if unicode else 0x001E, "Jörg <j@example.org>")
    m.set_property(0x0039, 0x0040, datetime.datetime(2026, 3, 9, 18, 0, tzinfo=datetime.timezone.utc))
    if not unicode:
        m.set_property(0x3FFD, 0x0003, 1252)
    return m


m = message(True)
m.add_attachment("Plan für März.pdf", b"%PDF-1.4")
inner = msg.MapiMessage.create("Darin", "Innen steht das.")
m.add_embedded_message_attachment(inner, filename="darin.msg")
m.save(path("unicode.msg"))
message(False).save(path("ansi.msg"))
m = msg.MapiMessage.create("Seite", "")
m.set_property(0x1013, 0x0102, "<html><body><p>Nur <b>HTML</b> – schön</p></body></html>".encode("utf-8"))
m.save(path("html.msg"))

# Word.
source = r"""# Kopf

Text mit $E=mc^2$ und Note[^1].

$$\frac{a+b}{\sqrt{x_1^2}} = \sum_{i=1}^{n} \int_0^\infty f(x)\,dx, \begin{pmatrix}1&2\\3&4\end{pmatrix}$$

3. drei
4. vier

(a) klein
(b) auch

[^1]: Die *Fußnote*.
"""
for kind in ["docx", "pptx", "odt"]:
    pypandoc.convert_text(source, kind, "md", outputfile=path("pandoc." + kind))
repack("pandoc.docx", "document2.docx", lambda name, data: (
    name.replace("word/document.xml", "word/document2.xml").replace("word/_rels/document.xml", "word/_rels/document2.xml")
        .replace("word/footnotes.xml", "word/notes1.xml"),
    data if isinstance(data, bytes) else data.replace("word/document.xml", "word/document2.xml")
        .replace("/word/footnotes.xml", "/word/notes1.xml").replace('"footnotes.xml"', '"notes1.xml"')))


def numbered(name, levels, paragraphs, extra="", overrides=""):
    """A document of python-docx whose first list has these levels."""
    d = docx.Document()
    numbering = d.part.numbering_part.element
    for old in list(numbering):
        numbering.remove(old)
    body = "".join(
        f'<w:lvl w:ilvl="{i}"><w:start w:val="{l.get("start", 1)}"/><w:numFmt w:val="{l["fmt"]}"/>{l.get("more", "")}'
        f'<w:lvlText w:val="{l["text"]}"/></w:lvl>' for i, l in enumerate(levels))
    numbering.append(parse_xml(f'<w:abstractNum {nsdecls("w")} w:abstractNumId="0">{body}</w:abstractNum>'))
    numbering.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="1"><w:abstractNumId w:val="0"/></w:num>'))
    numbering.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="2"><w:abstractNumId w:val="0"/>{overrides}</w:num>'))
    for text, level, *list_ in paragraphs:
        p = d.add_paragraph(text)
        if level is not None:
            p._p.get_or_add_pPr().append(parse_xml(
                f'<w:numPr {nsdecls("w")}><w:ilvl w:val="{level}"/><w:numId w:val="{list_[0] if list_ else 1}"/></w:numPr>'))
    d.save(path(name))
    shrink(name)


decimal = [{"fmt": "decimal", "text": "%1."}, {"fmt": "decimal", "text": "%1.%2"}, {"fmt": "lowerLetter", "text": "(%3)"},
           {"fmt": "lowerRoman", "text": "(%4)"}]
clauses = [("Terms", 0), ("Scope", 1), ("Fees", 1), ("rent", 2), ("heat", 2), ("late", 3), ("Law", 0), ("Place", 1)]
numbered("contract.docx", decimal, clauses)
numbered("legal.docx", [{"fmt": "upperRoman", "text": "Section %1."},
                        {"fmt": "decimal", "text": "%1.%2", "more": "<w:isLgl/>"}], clauses[:3] + [("Law", 0), ("Place", 1)])
numbered("chinese.docx", [{"fmt": "chineseCountingThousand", "text": "第%1条"}, {"fmt": "ideographTraditional", "text": "%2、"}],
         [(f"条{i}", 0) for i in range(1, 13)] + [("款", 1)])
numbered("again.docx", decimal, [("one", 0), ("two", 0), ("anew", 0, 2), ("after", 0, 2)],
         overrides='<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>')
numbered("goes-on.docx", decimal, [("one", 0), ("text between", None), ("two", 0), ("three", 0, 2)])
numbered("from-five.docx", [{"fmt": "decimalZero", "text": "Art. %1", "start": 5}], [("five", 0), ("six", 0)])
numbered("circles.docx", [{"fmt": "decimalEnclosedCircle", "text": "%1"}, {"fmt": "ganada", "text": "%2."}],
         [("eins", 0), ("zwei", 0), ("drunter", 1)])
numbered("skipped.docx", decimal, [("straight to the third", 2), ("and the first", 0)])

d = docx.Document()
d.part.numbering_part.element.append(parse_xml(
    f'<w:abstractNum {nsdecls("w")} w:abstractNumId="90"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
    f'<w:pStyle w:val="Heading1"/><w:lvlText w:val="%1"/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
    f'<w:pStyle w:val="Heading2"/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>'))
d.part.numbering_part.element.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="91"><w:abstractNumId w:val="90"/></w:num>'))
for style in ["Heading 1", "Heading 2"]:
    d.styles[style].element.get_or_add_pPr().append(parse_xml(f'<w:numPr {nsdecls("w")}><w:numId w:val="91"/></w:numPr>'))
for text, level in [("Anfang", 1), ("Mitte", 2), ("Rest", 2), ("Ende", 1)]:
    d.add_heading(text, level)
d.save(path("numbered-headings.docx"))
shrink("numbered-headings.docx")

# PDF: tables with lines around cells, with lines below rows, with every other row in another colour, and lists.
goods = [["Item", "Description", "Qty", "Price"],
         ["A-1", "A chair that is comfortable to sit on for many hours, with arms and wheels, in black or grey fabric", "2", "129.00"],
         ["A-2", "", "1", "15.50"], ["B-7 with a long name that wraps", "Desk", "10", "1,299.00"], ["", "Delivery", "", "49.00"]]
people = [["Name", "City", "Note"], ["Ann", "Bern", ""],
          ["Bob", "", "a note that is long enough to be wrapped onto two lines because the cell is not wide enough for all of its words"],
          ["Cid", "Basel", "x"]]
keys = [["K", "V"], ["alpha", "1"], ["beta", "2"], ["gamma", ""], ["delta", "4"]]


def html_table(kind, rows, more=""):
    head, *body = rows
    return (f"<table class={kind}><tr>" + "".join(f"<th>{c}</th>" for c in head) + "</tr>"
            + "".join("<tr>" + "".join(f"<td>{c}</td>" for c in r) + "</tr>" for r in body) + more + "</table>")


printed = f"""<html><head><meta charset="utf-8"><style>
body {{font: 11pt sans-serif}} table {{border-collapse: collapse; width: 100%}} td, th {{padding: 4px; vertical-align: top}}
.lines td, .lines th {{border: 1px solid #444}} .light td, .light th {{border-bottom: 1px solid #ccc}}
.zebra tr:nth-child(even) {{background: #eee}}</style></head><body><h1>Quarterly office report</h1>
<p>Some text before the table, which goes on for a while so that it takes more than one single line of the page.</p>
{html_table("lines", goods, "<tr><td colspan=3>Total</td><td>1,492.50</td></tr>")}<p>Text after.</p>
<ul><li>first bullet</li><li>second bullet office affine \ufb01ne</li></ul>{html_table("light", people)}<p>Between.</p>
{html_table("zebra", keys)}</body></html>"""
weasyprint.HTML(string=printed).write_pdf(path("weasyprint.pdf"))
open(path("print.html"), "w", encoding="utf-8").write(printed)
subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
                "--print-to-pdf=" + path("chromium.pdf"), path("print.html")], check=True, stderr=subprocess.DEVNULL)
os.remove(path("print.html"))

style = getSampleStyleSheet()
text = lambda t: platypus.Paragraph(t, style["BodyText"])
grid = platypus.Table([[text(c) if len(c) > 40 else c for c in r] for r in goods] + [["Total", "", "", "1,492.50"]],
                      colWidths=[150, 180, 50, 70])
grid.setStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("SPAN", (0, 5), (2, 5)), ("VALIGN", (0, 0), (-1, -1), "TOP")])
box = platypus.Table([["a", "b"], ["1", ""], ["", "2"], ["3", "4"]], colWidths=[100, 100])
box.setStyle([("BOX", (0, 0), (-1, -1), 1, colors.black), ("LINEBELOW", (0, 0), (-1, -2), 0.3, colors.grey)])
columns = platypus.Table([["x", "y"], ["1", "one"], ["2", "two"], ["3", "three"], ["4", "four"]], colWidths=[100, 100])
columns.setStyle([("BOX", (0, 0), (-1, -1), 1, colors.black), ("LINEAFTER", (0, 0), (0, -1), 0.5, colors.black),
                  ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black)])
platypus.SimpleDocTemplate(path("reportlab.pdf")).build([
    platypus.Paragraph("Report", style["Heading1"]), text("Before."), grid, text("After."), box, text("And."), columns,
    platypus.ListFlowable([text("one"), text("two")], bulletType="bullet")])

f = fpdf.FPDF()
f.add_page()
f.set_font("helvetica", size=12)
with f.table() as table:
    for r in goods:
        row = table.row()
        for c in r:
            row.cell(c)
f.output(path("fpdf.pdf"))
