"""Writes more documents with programs of others into the folder that is given: mail of Outlook, formulas without a value,
tables of PDFs with lines, and CSV in old encodings.

    apt-get install libreoffice-calc-nogui libreoffice-writer-nogui chromium
    pip install aspose-email-foss openpyxl XlsxWriter PyExcelerate odfpy python-docx reportlab weasyprint fpdf2 xhtml2pdf
    python siblings.py siblings
"""
import datetime
import pathlib
import subprocess
import sys
import tempfile

import fpdf
import openpyxl
import pyexcelerate
import weasyprint
import xlsxwriter
from aspose.email_foss import msg
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from openpyxl.worksheet.formula import ArrayFormula
from reportlab import platypus
from reportlab.lib import colors
from xhtml2pdf import pisa

out = pathlib.Path(sys.argv[1])
out.mkdir(exist_ok=True)
work = pathlib.Path(tempfile.mkdtemp())


def soffice(source, to, name, filter_in=None):
    subprocess.run(["soffice", "--headless", f"-env:UserInstallation=file://{work}/profile", *([f"--infilter={filter_in}"] if filter_in else []),
                    "--convert-to", to, "--outdir", str(work / "out"), str(source)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    made = next((work / "out").iterdir())
    made.rename(out / name)


# Mail. 001F are texts in UTF-16, 001E those in a code page.
def mail(name, subject, body, page=0, **more):
    m = msg.MapiMessage.create(subject, body, unicode_strings=not page)
    kind = 0x001E if page else 0x001F
    if page:
        m.set_property(0x3FFD, 0x0003, page)
    for tag, text in more.items():
        m.set_property(int(tag[1:], 16), kind, text)
    return m, lambda: m.save(out / name)


for name, subject, body, page in [("cyrillic.msg", "Договор поставки", "Добрый день!\r\nВысылаем счёт.", 0),
                                  ("polish.msg", "Umowa", "Dzień dobry, wysyłam umowę. Żółw.", 0),
                                  ("japanese.msg", "お見積り", "お世話になっております。見積書を送ります。", 0),
                                  ("chinese.msg", "会议通知", "请查收附件中的会议记录。", 0),
                                  ("french.msg", "Devis", "Élise a déjà reçu l’œuvre à 5 €.", 1252)]:
    mail(name, subject, body, page)[1]()
m, save = mail("copies.msg", "Copies", "To several.", p0C1A="Ann", p0C1F="ann@example.org", p0E04="Bob; Cid", p0E03="Dora")
for address, name, kind in [("bob@example.org", "Bob", 1), ("cid@example.org", "Cid", 1), ("dora@example.org", "Dora", 2)]:
    m.add_recipient(address, display_name=name, recipient_type=kind)
save()
m, save = mail("nested.msg", "Outer", "Outer text.")
inner = msg.MapiMessage.create("Middle", "Middle text.")
inner.add_embedded_message_attachment(msg.MapiMessage.create("Inner", "Inner text."), filename="inner.msg")
m.add_embedded_message_attachment(inner, filename="middle.msg")
save()
m, save = mail("attachments.msg", "Two", "See both.")
m.add_attachment("Größe.xlsx", b"PK")
m.add_attachment("資料.pdf", b"%PDF")
save()
m, save = mail("latin-page.msg", "Seite", "")
m.set_property(0x1013, 0x0102, '<html><head><meta charset="windows-1252"></head><body><h1>Preis</h1><p>5 € für Käse</p></body></html>'.encode("cp1252"))
save()
m, save = mail("table-page.msg", "Tabelle", "")
m.set_property(0x1013, 0x001F, "<table><tr><th>Ort</th><th>Zahl</th></tr><tr><td>Köln</td><td>3</td></tr></table>")
save()
mail("no-subject.msg", "", "Only a text.")[1]()

# Formulas without a value.
b = openpyxl.Workbook()
s = b.active
s["A1"], s["B1"], s["C1"] = 2, '=IF(A1>1,"ja","nein")', "=TODAY()"
b.save(out / "condition.xlsx")
b = openpyxl.Workbook()
s = b.active
s.title = "Summe"
s["A1"] = "='Über sicht'!A1*2"
b.create_sheet("Über sicht")["A1"] = 21
b.save(out / "other-sheet.xlsx")
b = openpyxl.Workbook()
s = b.active
s["A1"], s["A2"] = 1, 2
s["B1"] = ArrayFormula("B1:B2", "=A1:A2*10")
b.save(out / "array.xlsx")
b = openpyxl.Workbook()
s = b.active
s["A1"] = "=DATE(2026,3,9)"
s["A1"].number_format = "yyyy-mm-dd"
s["B1"] = "=A1<5"
b.save(out / "date-formula.xlsx")
b = openpyxl.Workbook()
s = b.active
s["A1"], s["B1"] = '=HYPERLINK("https://example.org","hier")', '="a ""b"" & c"'
b.save(out / "link-formula.xlsx")
b = xlsxwriter.Workbook(out / "no-values.xlsx")
s = b.add_worksheet()
s.write_row(0, 0, [3, 4])
s.write_formula(0, 2, "=SUM(A1:B1)", None, "")
s.write_array_formula("D1:D1", "{=SUM(A1:B1*2)}", None, "")
b.close()
b = xlsxwriter.Workbook(out / "dynamic.xlsx")
s = b.add_worksheet()
s.write_row(0, 0, [3, 1, 3])
s.write_dynamic_array_formula("A2:A2", "=UNIQUE(A1:C1)", None, "")
b.close()
b = pyexcelerate.Workbook()
b.new_sheet("F", data=[[1, 2, "=A1+B1"]])
b.save(str(out / "pyexcelerate-formula.xlsx"))
d, t = OpenDocumentSpreadsheet(), Table(name="F")
row = TableRow()
row.addElement(TableCell(valuetype="float", value="5"))
row.addElement(TableCell(formula="of:=[.A1]*2"))
t.addElement(row)
d.spreadsheet.addElement(t)
d.save(out / "odfpy-formula.ods")
b = openpyxl.Workbook()
b.active["A1"] = "=SUM(B1:B3)"
b.active["B1"] = "=NOT(TRUE)"
b.template = True
b.save(out / "template.xltx")

# Tables of PDFs.
rows = [["Item", "Size", "Note"], ["chair", "40 cm", ""], ["table", "", "made of oak"], ["", "12 cm", "without a name"]]


def reportlab(name, *style):
    t = platypus.Table(rows, colWidths=[90, 90, 140])
    t.setStyle([("FONTSIZE", (0, 0), (-1, -1), 10), *style])
    platypus.SimpleDocTemplate(str(out / name)).build([t])


reportlab("inner-grid.pdf", ("INNERGRID", (0, 0), (-1, -1), 0.25, colors.grey), ("BOX", (0, 0), (-1, -1), 2, colors.black))
reportlab("dashed.pdf", ("GRID", (0, 0), (-1, -1), 0.5, colors.red, None, (2, 2)))
reportlab("dark-head.pdf", ("BACKGROUND", (0, 0), (-1, 0), colors.darkblue), ("TEXTCOLOR", (0, 0), (-1, 0), colors.white),
          ("GRID", (0, 0), (-1, -1), 0.5, colors.lightgrey))


def page(css):
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in r) + "</tr>" for r in rows)
    return f'<html><head><meta charset="utf-8"><style>td {{padding: 4px; width: 120px}} {css}</style></head><body><table border="1">{body}</table></body></html>'


def chromium(name, css):
    (work / "p.html").write_text(page(css))
    subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={work}/c",
                    f"--print-to-pdf={out / name}", str(work / "p.html")], check=True, stderr=subprocess.DEVNULL)


weasyprint.HTML(string=page("table {border-collapse: separate; border-spacing: 0} td {border: 1px solid #333}")).write_pdf(out / "separate.pdf")
weasyprint.HTML(string=page("table {border-collapse: collapse} td {border: 1px dotted #333}")).write_pdf(out / "dotted.pdf")
chromium("collapsed.pdf", "table {border-collapse: collapse} td {border: 2px solid #000}")
chromium("boxed.pdf", "table {border-collapse: separate; border-spacing: 3px} td {border: 1px solid #999}")
with (out / "pisa.pdf").open("wb") as f:
    pisa.CreatePDF(page("td {border: 1px solid #000}"), dest=f)
for name, layout in [("fpdf-all.pdf", "ALL"), ("fpdf-inside.pdf", "INTERNAL")]:
    f = fpdf.FPDF()
    f.add_page()
    f.set_font("helvetica", size=11)
    with f.table(borders_layout=layout) as table:
        for r in rows:
            line = table.row()
            for c in r:
                line.cell(c)
    f.output(str(out / name))
(work / "t.html").write_text(page(""))
soffice(work / "t.html", "pdf:writer_pdf_Export", "libreoffice.pdf", "HTML (StarWriter)")

# CSV, by LibreOffice: the separator, and the number it has for the encoding.
texts = {"windows-1252": ("1", "59", [["Prénom", "Ville"], ["Élise", "Besançon"], ["Zoë", "Orléans"]]),
         "windows-1250": ("33", "59", [["Imię", "Miasto"], ["Łukasz", "Łódź"], ["Małgorzata", "Kraków"]]),
         "windows-1251": ("34", "9", [["Имя", "Город"], ["Иван", "Новосибирск"], ["Ольга", "Казань"]]),
         "windows-1253": ("35", "44", [["Όνομα", "Πόλη"], ["Γιώργος", "Θεσσαλονίκη"], ["Ελένη", "Πάτρα"]]),
         "windows-1254": ("36", "59", [["Adı", "Şehir"], ["Ayşe Yılmaz", "İstanbul"], ["Çağrı", "Eskişehir"]]),
         "shift_jis": ("64", "44", [["名前", "都市"], ["田中さん", "東京都"], ["鈴木さん", "大阪市"]]),
         "gbk": ("67", "44", [["姓名", "城市"], ["张伟", "北京市朝阳区"], ["王芳", "上海市浦东新区"]]),
         "big5": ("68", "44", [["姓名", "城市"], ["陳先生", "臺北市信義區"], ["林小姐", "高雄市左營區"]]),
         "euc-jp": ("69", "9", [["名前", "都市"], ["これは田中さんです", "東京都"], ["鈴木さん", "大阪市"]]),
         "koi8-r": ("74", "59", [["Имя", "Город"], ["Иван Петров", "Новосибирск"], ["Ольга Смирнова", "Казань"]]),
         "utf-16": ("65535", "9", [["Name", "Ort"], ["Zoë", "Zürich"], ["私", "東京"]])}
for name, (charset, separator, cells) in texts.items():
    b = openpyxl.Workbook()
    for r in cells:
        b.active.append(r)
    b.save(work / "c.xlsx")
    soffice(work / "c.xlsx", f"csv:Text - txt - csv (StarCalc):{separator},34,{charset},1,,0,false,true,true", f"{name}.csv")
