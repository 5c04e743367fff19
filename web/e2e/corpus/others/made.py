"""Has programs of others write texts and tables that stand in source packages and on the machine."""
import csv
import datetime
import email.message
import gzip
import html
import itertools
import json
import pathlib
import re
import subprocess
import tempfile
import unicodedata

import lxml.html

import reference

FLAT = {"python-pptx", "odfpy"}  # that get the rows of tables as lines here
TONGUES = ["de", "fr", "es", "ja", "ru", "pl", "zh_CN", "ko", "tr", "it"]


def command(*args, **more):
    return subprocess.run([str(a) for a in args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, **more).returncode == 0


class Text:
    """A page without pictures, with what must be found in it. Every writer gets the same page."""

    def __init__(self, origin, body):
        root = lxml.html.fragment_fromstring(body, create_parent="div")
        for gone in root.xpath("//img|//script|//style|//comment()|//input|//svg|//video|//hr"):
            if gone.getparent() is not None:
                gone.drop_tree()
        for a in root.xpath("//a"):
            a.drop_tag()
        for table in root.xpath("//table"):
            table.set("border", "1")  # for programs that know no style sheets
        for pre in root.xpath("//pre"):  # lines stay lines in programs that don't know pre
            pre.text, text = None, pre.text_content()
            for k in list(pre):
                pre.remove(k)
            pre.text = text
        self.origin, self.body = origin, lxml.html.tostring(root, encoding="unicode")
        title = html.escape(origin.rsplit("/", 1)[-1])
        style = "table {border-collapse: collapse} th, td {border: 1px solid #888; padding: 3px}"
        self.page = (f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title><style>{style}</style></head>'
                     f'<body>{self.body}</body></html>')
        self.text, self.rows = reference.page(self.page, None), reference.rows(self.page, None)

    def paragraphs(self):
        for n in lxml.html.fragment_fromstring(self.body).iter("h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "pre", "dt", "dd", "tr"):
            if n.tag != "p" and n.tag != "tr" and n.xpath(".//p|.//li|.//pre|.//tr") or n.tag != "tr" and n.xpath("ancestor::tr"):
                continue
            if n.tag == "tr":
                yield "tr", [" ".join(c.text_content().split()) for c in n if c.tag in ("td", "th")]
                continue
            yield n.tag, n.text_content()


def pages(texts):
    """Texts of source packages and manuals of this machine in ten languages."""
    import markdown
    from docutils.core import publish_parts
    per, out = {}, []
    for source, name, data in sorted(texts, key=lambda t: hash_of(t[2])):
        if per.get(source, 0) >= 2 or len(out) >= 26:
            continue
        try:
            text = data.decode("utf-8")
            if name.endswith(".md"):
                body = markdown.markdown(text, extensions=["tables", "fenced_code"])
            else:
                body = publish_parts(text, writer_name="html5", settings_overrides={"report_level": 5, "halt_level": 5, "raw_enabled": False,
                                                                                  "file_insertion_enabled": False})["body"]
                if "problematic" in body:
                    continue
            out.append(Text(f"{source}/{name}", body))
            per[source] = per.get(source, 0) + 1
        except Exception as why:
            print("no page:", name, repr(why)[:80])
    for tongue in TONGUES:
        for p in sorted(pathlib.Path("/usr/share/man", tongue).glob("man[158]/*.gz"), key=lambda p: hash_of(p.name.encode()))[:40]:
            data = gzip.decompress(p.read_bytes()) if not p.is_symlink() else b""
            if 3000 < len(data) < 40000 and b".SH" in data:
                body = pandoc(data, "man", "html")
                if body:
                    out.append(Text(f"man/{tongue}/{p.stem}", body.decode()))
                    break
    return out


def hash_of(data):
    import hashlib
    return hashlib.sha256(data).hexdigest()


def pandoc(data, from_, to, path=None):
    import pypandoc
    done = subprocess.run([pypandoc.get_pandoc_path(), "-f", from_, "-t", to, "--wrap=none", *(["-s", "-o", str(path)] if path else [])],
                          input=data, capture_output=True, timeout=120)
    return done.stdout if done.returncode == 0 else b""


def tables():
    """Tables of this machine and of Python: rows of texts, the first of which is the head."""
    def tab(name, columns):
        rows = [l.split("\t") for l in pathlib.Path("/usr/share/zoneinfo", name).read_text().splitlines() if l and l[0] != "#"]
        return [columns] + [(r + [""] * len(columns))[:len(columns)] for r in rows]
    import http
    import locale
    country, zone = tab("iso3166.tab", ["Code", "Country"]), tab("zone1970.tab", ["Codes", "Coordinates", "Zone", "Comments"])
    letters = [["Sign", "Name", "Category", "Decimal"]] + [[chr(c), unicodedata.name(chr(c)), unicodedata.category(chr(c)), str(c)]
                                                           for c in itertools.chain(range(0xC0, 0xF8), range(0x391, 0x3A9), range(0x410, 0x430)) if unicodedata.name(chr(c), "")]
    status = [["Status", "Phrase", "Meaning"]] + [[str(s.value), s.phrase, s.description] for s in http.HTTPStatus]
    leaps = [["Day", "Difference"]] + [
        [str(datetime.date(1900, 1, 1) + datetime.timedelta(seconds=int(l.split()[0]))), l.split()[1]]
        for l in pathlib.Path("/usr/share/zoneinfo/leap-seconds.list").read_text().splitlines() if l and l[0] != "#"]
    names = [["Locale", "Encoding"]] + [[k, v] for k, v in sorted(locale.locale_alias.items())[:120]]
    services = [["Service", "Port", "Alias"]]
    for l in pathlib.Path("/etc/services").read_text().splitlines():
        p = l.split("#")[0].split()
        if len(p) >= 2:
            services.append([p[0], p[1], " ".join(p[2:])])
    lengths = [["Power", "Square", "Cube", "Fourth"]] + [[str(n), str(n * n), str(n ** 3), str(n ** 4)] for n in range(2, 42)]
    return {"countries": country, "zones": zone[:90], "letters": letters, "status": status, "leaps": leaps, "locales": names,
            "services": services[:120], "powers": lengths}


def typed(text):
    """A cell as programs keep it: whole numbers and days as such."""
    if re.fullmatch(r"[1-9]\d{0,8}|0", text):
        return int(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return datetime.date.fromisoformat(text)
    return text


class Maker:
    def __init__(self, folder, texts):
        self.folder, self.entries = folder, []
        self.pages, self.tables = pages(texts), tables()
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="made-"))
        self.next = 0

    def some(self, n):
        """The next texts, so that programs don't all write the same ones."""
        got = [self.pages[(self.next + i) % len(self.pages)] for i in range(n)]
        self.next += n
        return got

    def add(self, producer, ext, origin, text, rows, write, many=80):
        path = self.folder / f"{re.sub('[^a-z0-9]+', '-', producer.lower())}-{len(self.entries)}.{ext}"
        try:
            done = write(path)
        except Exception as why:
            print("not written:", producer, ext, repr(why)[:120])
            done = False
        if done is False or not path.exists() or path.stat().st_size == 0:
            print("missing:", producer, ext, origin)
            path.unlink(missing_ok=True)
            return
        full = [[c for c in r if c.strip()] for r in rows]
        self.entries.append({"file": path.name, "producer": producer, "origin": origin, "text": text, "table": [r for r in full if len(r) > 1][:many]})

    def text(self, producer, ext, n, write):
        for t in self.some(n):
            self.add(producer, ext, t.origin, t.text, t.rows if ext not in ("rtf", "doc", "odp") and producer not in FLAT else [], lambda path: write(path, t))

    def rows(self, producer, ext, names, write):
        for name in names:
            rows = self.tables[name]
            self.add(producer, ext, name, "\n".join(" ".join(r) for r in rows), rows, lambda path: write(path, rows))


def write(folder, texts):
    m = Maker(folder, texts)
    documents(m)
    sheets(m)
    portable(m)
    messages(m)
    return m.entries


def office(m, source, path, to, filter_in=None):
    """Has LibreOffice write a file."""
    out = m.work / f"o{len(m.entries)}"
    out.mkdir(exist_ok=True)
    command("soffice", "--headless", "--norestore", f"-env:UserInstallation=file://{m.work}/profile", *([f"--infilter={filter_in}"] if filter_in else []),
            "--convert-to", to, "--outdir", out, source)
    made = [p for p in out.iterdir()]
    if not made:
        return False
    made[0].rename(path)


def html_file(m, t):
    p = m.work / f"{abs(hash(t.origin))}.html"
    p.write_text(t.page)
    return p


def documents(m):
    for ext, to in [("docx", "docx"), ("odt", "odt"), ("epub", "epub"), ("rtf", "rtf"), ("html", "html"), ("pptx", "pptx"), ("ipynb", "ipynb")]:
        m.text("pandoc", ext, 4, lambda path, t: pandoc(t.page.encode(), "html", to, path) and None)
    for ext, to in [("docx", "docx:MS Word 2007 XML"), ("doc", "doc:MS Word 97"), ("odt", "odt:writer8"), ("rtf", "rtf:Rich Text Format"),
                    ("fodt", "fodt:OpenDocument Text Flat XML")]:
        m.text("LibreOffice", ext, 4, lambda path, t: office(m, html_file(m, t), path, to, "HTML (StarWriter)"))
    for ext in ["docx", "doc", "odt", "rtf"]:
        m.text("AbiWord", ext, 2, lambda path, t: command("abiword", f"--to={ext}", "-o", path, html_file(m, t)))

    def python_docx(path, t):
        import docx
        d, table = docx.Document(), None
        for kind, text in t.paragraphs():
            if kind == "tr":
                if table is None or len(table.columns) != len(text):
                    table = d.add_table(0, len(text))
                for cell, c in zip(table.add_row().cells, text):
                    cell.text = c
                continue
            table = None
            if kind[0] == "h":
                d.add_heading(text, int(kind[1]))
            else:
                d.add_paragraph(text, "List Bullet" if kind == "li" else None)
        d.save(path)
    m.text("python-docx", "docx", 4, python_docx)

    def python_pptx(path, t):
        import pptx
        show, slide = pptx.Presentation(), None
        for kind, text in t.paragraphs():
            text = " ".join(text) if kind == "tr" else text
            if slide is None or kind[0] == "h":
                slide = show.slides.add_slide(show.slide_layouts[1])
                slide.shapes.title.text = text if kind[0] == "h" else ""
                if kind[0] == "h":
                    continue
            slide.placeholders[1].text_frame.add_paragraph().text = text
        show.save(path)
    m.text("python-pptx", "pptx", 4, python_pptx)
    for e in [e for e in m.entries if e["producer"] == "python-pptx"]:
        for ext, to in [("odp", "odp:impress8"), ("ppt", "ppt:MS PowerPoint 97")]:
            m.add("LibreOffice", ext, e["origin"], e["text"], [], lambda path: office(m, m.folder / e["file"], path, to))

    def ebooklib(path, t):
        from ebooklib import epub
        b = epub.EpubBook()
        b.set_title("Book")
        b.set_identifier("x")
        c = epub.EpubHtml(title="Chapter", file_name="c.xhtml")
        c.content = t.body
        b.add_item(c)
        b.add_item(epub.EpubNcx())
        b.spine = [c]
        epub.write_epub(path, b)
    m.text("EbookLib", "epub", 4, ebooklib)

    def odfpy(path, t):
        from odf.opendocument import OpenDocumentText
        from odf.text import H, P
        d = OpenDocumentText()
        for kind, text in t.paragraphs():
            text = " ".join(text) if kind == "tr" else text
            d.text.addElement(H(outlinelevel=int(kind[1]), text=text) if kind[0] == "h" else P(text=text))
        d.save(path)
    m.text("odfpy", "odt", 3, odfpy)

    def docutils_odt(path, t):
        from docutils.core import publish_string
        rst = pandoc(t.page.encode(), "html", "rst").decode()
        path.write_bytes(publish_string(rst, writer_name="odt", settings_overrides={"report_level": 5, "halt_level": 5}))
    m.text("docutils", "odt", 3, docutils_odt)


def sheets(m):
    import openpyxl
    import pyexcelerate
    import xlsxwriter
    import xlwt
    day = "YYYY-MM-DD"

    def with_openpyxl(path, rows):
        b = openpyxl.Workbook()
        for r in rows:
            b.active.append([typed(c) or None for c in r])
        b.save(path)

    def with_xlsxwriter(path, rows):
        b = xlsxwriter.Workbook(path, {"strings_to_formulas": False})
        s, date = b.add_worksheet(), b.add_format({"num_format": "yyyy-mm-dd"})
        for i, r in enumerate(rows):
            for j, c in enumerate(map(typed, r)):
                s.write_datetime(i, j, c, date) if isinstance(c, datetime.date) else s.write(i, j, c)
        b.close()

    def with_pyexcelerate(path, rows):
        b = pyexcelerate.Workbook()
        b.new_sheet("a", data=[[datetime.datetime.combine(c, datetime.time()) if isinstance(c, datetime.date) else c for c in map(typed, r)] for r in rows])
        b.save(str(path))

    def with_xlwt(path, rows):
        b = xlwt.Workbook()
        s, date = b.add_sheet("a"), xlwt.easyxf(num_format_str=day)
        for i, r in enumerate(rows):
            for j, c in enumerate(map(typed, r)):
                s.write(i, j, c, date) if isinstance(c, datetime.date) else s.write(i, j, c)
        b.save(str(path))

    def csv_file(rows):
        p = m.work / f"{len(m.entries)}.csv"
        with p.open("w", newline="") as f:
            csv.writer(f).writerows(rows)
        return p

    def with_odfpy(path, rows):
        from odf.opendocument import OpenDocumentSpreadsheet
        from odf.table import Table, TableCell, TableRow
        from odf.text import P
        d, t = OpenDocumentSpreadsheet(), Table(name="a")
        for r in rows:
            line = TableRow()
            for c in r:
                cell = TableCell(valuetype="string")
                cell.addElement(P(text=c))
                line.addElement(cell)
            t.addElement(line)
        d.spreadsheet.addElement(t)
        d.save(path)

    some = ["countries", "zones", "letters", "status", "leaps", "locales", "services", "powers"]
    m.rows("openpyxl", "xlsx", some[:4], with_openpyxl)
    m.rows("XlsxWriter", "xlsx", some[2:6], with_xlsxwriter)
    m.rows("PyExcelerate", "xlsx", some[:4], with_pyexcelerate)  # which shows days as numbers unless told otherwise
    m.rows("xlwt", "xls", some[1:6], with_xlwt)
    m.rows("odfpy", "ods", some[3:6], with_odfpy)
    for ext, to in [("xlsx", "xlsx:Calc MS Excel 2007 XML"), ("xls", "xls:MS Excel 97"), ("ods", "ods:calc8"), ("fods", "fods:OpenDocument Spreadsheet Flat XML"),
                    ("slk", "slk:SYLK"), ("html", "html:HTML (StarCalc)"), ("rtf", "rtf:Rich Text Format (StarCalc)")][:6]:
        m.rows("LibreOffice", ext, some[len(ext) % 3::3], lambda path, rows: office(m, csv_file(rows), path, to, "CSV:44,34,76,1"))
    books = [e for e in m.entries if e["producer"] == "openpyxl"]
    for ext, to in [("xlsx", "Gnumeric_Excel:xlsx"), ("xls", "Gnumeric_Excel:excel_biff8"), ("ods", "Gnumeric_OpenCalc:odf"),
                    ("html", "Gnumeric_html:html40"), ("csv", "Gnumeric_stf:stf_csv")]:
        for e in books[:3]:
            m.add("Gnumeric", ext, e["origin"], e["text"], e["table"] if ext != "csv" else [],
                  lambda path: command("ssconvert", "-T", to, m.folder / e["file"], path))


def html_table(rows, css):
    line = lambda cells, tag: "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"
    return (f'<!DOCTYPE html><html><head><meta charset="utf-8"><style>body {{font: 10pt sans-serif}} table {{border-collapse: collapse}} '
            f'th, td {{padding: 2pt 6pt; text-align: left}} {css}</style></head><body><table><thead>{line(rows[0], "th")}</thead><tbody>'
            + "".join(line(r, "td") for r in rows[1:]) + "</tbody></table></body></html>")


def chromium(m, page, path):
    src = m.work / f"print{len(m.entries)}.html"
    src.write_text(page)
    command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={m.work}/chromium", f"--print-to-pdf={path}", src)


def portable(m):
    import fpdf
    import weasyprint
    from reportlab import platypus
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    font = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
    pdfmetrics.registerFont(TTFont("DejaVu", font))
    latin = lambda t: all(ord(c) < 0x500 for c in t.text)

    m.text("WeasyPrint", "pdf", 4, lambda path, t: weasyprint.HTML(string=t.page).write_pdf(path))
    m.text("Chromium", "pdf", 4, lambda path, t: chromium(m, t.page, path))
    m.text("LibreOffice", "pdf", 4, lambda path, t: office(m, html_file(m, t), path, "pdf:writer_pdf_Export", "HTML (StarWriter)"))

    def abi(path, t):
        return command("abiword", "--to=pdf", "-o", path, html_file(m, t))
    m.text("AbiWord", "pdf", 2, abi)

    def pisa(path, t):
        from xhtml2pdf import pisa
        with path.open("wb") as f:
            pisa.CreatePDF(t.page, dest=f)

    def with_reportlab(path, t):
        style = getSampleStyleSheet()
        for s in style.byName.values():
            s.fontName = "DejaVu"
        flow = []
        for kind, text in t.paragraphs():
            text = " ".join(text) if kind == "tr" else text
            flow.append(platypus.Paragraph(html.escape(text), style[f"Heading{min(int(kind[1]), 4)}" if kind[0] == "h" else "BodyText"]))
        platypus.SimpleDocTemplate(str(path), pagesize=A4).build(flow)

    def with_fpdf(path, t):
        f = fpdf.FPDF()
        f.add_page()
        f.add_font("DejaVu", fname=font)
        f.set_font("DejaVu", size=11)
        for kind, text in t.paragraphs():
            f.multi_cell(0, 6, " ".join(text) if kind == "tr" else text, new_x="LMARGIN", new_y="NEXT")
        f.output(str(path))
    narrow = [t for t in m.pages if latin(t)]
    for producer, write in [("xhtml2pdf", pisa), ("reportlab", with_reportlab), ("fpdf2", with_fpdf)]:
        for t in narrow[:: max(1, len(narrow) // 4)][:4]:
            if producer == "xhtml2pdf" and not t.text.isascii():
                continue
            m.add(producer, "pdf", t.origin, t.text, [] if producer != "xhtml2pdf" else t.rows, lambda path: write(path, t))

    # Manuals by groff: what must be found is what it writes to a terminal.
    for p in sorted(pathlib.Path("/usr/share/man/man1").glob("*.1.gz"), key=lambda p: hash_of(p.name.encode()))[:60]:
        if len([e for e in m.entries if e["producer"].startswith("groff")]) >= 6:
            break
        data = b"" if p.is_symlink() else gzip.decompress(p.read_bytes())
        if not 4000 < len(data) < 60000 or not data.isascii():
            continue
        shown = subprocess.run(["groff", "-k", "-t", "-mandoc", "-Tutf8", "-P-cbou", "-rHY=0", "-rLL=200n"], input=data, capture_output=True).stdout.decode()

        def with_groff(path):
            ps = m.work / "man.ps"
            ps.write_bytes(subprocess.run(["groff", "-k", "-t", "-mandoc", "-rHY=0", "-Tps"], input=data, capture_output=True).stdout)
            return command("ps2pdf", ps, path)
        m.add("groff and Ghostscript", "pdf", p.stem, shown, [], with_groff)

    # Tables.
    def grid(path, rows):
        t = platypus.Table(rows, repeatRows=1)
        t.setStyle([("GRID", (0, 0), (-1, -1), 0.4, colors.black), ("FONTNAME", (0, 0), (-1, -1), "DejaVu"), ("FONTSIZE", (0, 0), (-1, -1), 7)])
        platypus.SimpleDocTemplate(str(path), pagesize=A4).build([t])

    def below(path, rows):
        t = platypus.Table(rows, repeatRows=1)
        t.setStyle([("LINEBELOW", (0, 0), (-1, -1), 0.3, colors.grey), ("FONTNAME", (0, 0), (-1, -1), "DejaVu"), ("FONTSIZE", (0, 0), (-1, -1), 7)])
        platypus.SimpleDocTemplate(str(path), pagesize=A4).build([t])

    def cells(path, rows):
        f = fpdf.FPDF()
        f.add_page()
        f.add_font("DejaVu", fname=font)
        f.add_font("DejaVu", "B", fname=font.replace("Sans", "Sans-Bold"))
        f.set_font("DejaVu", size=9)
        with f.table() as table:
            for r in rows:
                line = table.row()
                for c in r:
                    line.cell(c)
        f.output(str(path))
    border, under, zebra = "th, td {border: 1px solid #555}", "th, td {border-bottom: 1px solid #bbb}", "tr:nth-child(even) {background: #eee}"
    m.rows("reportlab", "pdf", ["countries", "letters", "powers"], grid)
    m.rows("reportlab", "pdf", ["leaps", "services"], below)
    m.rows("fpdf2", "pdf", ["powers", "locales", "zones"], cells)
    for css, names in [(border, ["zones", "status"]), (under, ["countries", "services"]), (zebra, ["letters", "powers"]), ("", ["locales", "leaps"])]:
        m.rows("WeasyPrint", "pdf", names[:1], lambda path, rows: weasyprint.HTML(string=html_table(rows, css)).write_pdf(path))
        m.rows("Chromium", "pdf", names[1:], lambda path, rows: chromium(m, html_table(rows, css), path))
    def lo_table(path, rows):
        src = m.work / f"t{len(m.entries)}.html"
        src.write_text(html_table(rows, border).replace("<table>", '<table border="1">'))
        return office(m, src, path, "pdf:writer_pdf_Export", "HTML (StarWriter)")
    m.rows("LibreOffice", "pdf", ["status", "services"], lo_table)


def messages(m):
    from aspose.email_foss import msg
    for i, t in enumerate(m.some(6)):
        text = "\n".join(" ".join(x) if k == "tr" else x for k, x in t.paragraphs())[:20000]
        who = "Zoë Müller <zoe@example.org>"

        def outlook(path):
            one = msg.MapiMessage.create("Re: " + t.origin, text, unicode_strings=True)
            one.set_property(0x0C1A, 0x001F, "Zoë Müller")
            one.set_property(0x0C1F, 0x001F, "zoe@example.org")
            one.set_property(0x0E04, 0x001F, "team@example.org")
            one.save(path)
        if i < 4:
            m.add("Aspose.Email FOSS", "msg", t.origin, f"Re: {t.origin}\n{who}\nteam@example.org\n{text}", [], outlook)

        def mail(path, kind):
            one = email.message.EmailMessage()
            one["Subject"], one["From"], one["To"] = "Re: " + t.origin, who, "team@example.org"
            if kind == "html":
                one.set_content(t.page, subtype="html", charset="utf-8")
            else:
                one.set_content(text, charset="utf-8")
            path.write_bytes(one.as_bytes())
        kind = "html" if i % 2 else "text"
        head = f"Re: {t.origin}\n{who}\nteam@example.org\n"
        m.add("Python's email", "eml", t.origin, head + (t.text if kind == "html" else text), t.rows if kind == "html" else [], lambda path: mail(path, kind))
