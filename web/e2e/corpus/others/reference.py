"""What programs that neither Fawn nor markitdown uses find in documents."""
import csv
import email
import email.policy
import io
import json
import pathlib
import re
import subprocess
import tempfile
import zipfile

import lxml.etree
import lxml.html

OFFICE = {"docx": "writer", "doc": "writer", "odt": "writer", "rtf": "writer", "pptx": "impress", "ppt": "impress",
          "odp": "impress", "xlsx": "calc", "xls": "calc", "ods": "calc"}
TARGET = {"writer": "txt:Text (encoded):UTF8", "impress": "fodp",
          "calc": "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true,false,false,-1"}
BLOCKS = {"p", "div", "li", "td", "th", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "br", "pre", "dt", "dd", "table", "ul", "ol",
          "title", "section", "blockquote", "caption", "option", "figcaption"}


def soffice(out, to, files):
    """Has LibreOffice convert files, one by one if one of them makes it fail."""
    def run(some):
        try:
            subprocess.run(["soffice", "--headless", "--norestore", f"-env:UserInstallation=file://{out}/profile", "--convert-to", to,
                            "--outdir", str(out), *map(str, some)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30 + 15 * len(some))
        except subprocess.TimeoutExpired:
            pass
    files = list(files)
    for i in range(0, len(files), 20):
        run(files[i:i + 20])
    for f in files:
        if not [p for p in out.glob(f.stem + "[.-]*") if p.suffix == "." + to.split(":")[0]]:
            run([f])


def page(data, encoding=None):
    """The text of a page as a browser shows it."""
    root = lxml.html.document_fromstring(data, parser=lxml.html.HTMLParser(encoding=encoding))
    for gone in root.xpath("//script|//style|//head|//template|//comment()"):
        gone.drop_tree() if gone.getparent() is not None else None
    parts = []

    def walk(n):
        if not isinstance(n.tag, str):
            parts.append(n.tail or "")
            return
        block = n.tag in BLOCKS
        parts.append(("\n" if block else "") + (n.text or ""))
        for k in n:
            walk(k)
        parts.append(("\n" if block else "") + (n.tail or ""))
    walk(root)
    return "".join(parts)


def rows(data, encoding=None):
    """The rows of the tables of a page that have at least two cells with text, none of which spans others or has a table in it."""
    root = lxml.html.document_fromstring(data, parser=lxml.html.HTMLParser(encoding=encoding))
    found = []
    for tr in root.iter("tr"):
        cells = [" ".join(page(lxml.html.tostring(c, encoding="unicode")).split()) for c in tr if c.tag in ("td", "th") and len(c.text_content().strip())]
        if len(cells) >= 2 and not tr.xpath(".//table|ancestor::table[2]"):
            found.append(cells)
    return found


def book(data):
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        container = lxml.etree.fromstring(z.read("META-INF/container.xml"))
        root = container.xpath("//*[local-name()='rootfile']/@full-path")[0]
        opf = lxml.etree.fromstring(z.read(root))
        items = {i.get("id"): i.get("href") for i in opf.xpath("//*[local-name()='item']")}
        names = [items[r.get("idref")] for r in opf.xpath("//*[local-name()='itemref']") if r.get("idref") in items]
        base = pathlib.PurePosixPath(root).parent
        return "\n".join(page(z.read(str(base / n)), "utf-8") for n in names)


def outlook(path):
    """A message with the labels of its head, which both readers have."""
    import extract_msg
    with extract_msg.openMsg(str(path)) as m:
        body = m.body
        if not body and m.htmlBody:
            body = page(m.htmlBody)
        date = m.date.strftime("Date %a, %-d %b %Y %H:%M:%S %z") if m.date else ""
        head = [f"{label} {text}" for label, text in (("From", m.sender), ("To", m.to), ("Cc", m.cc)) if text]
        names = [f"attachment {a.getFilename()}" for a in m.attachments]
        return "\n".join(str(p or "") for p in [m.subject, *head, date, body, *names])


def mail(data):
    m = email.message_from_bytes(data, policy=email.policy.default)
    body = m.get_body(("plain", "html"))
    text = body.get_content() if body else ""
    if body is not None and body.get_content_subtype() == "html":
        text = page(text)
    head = "\n".join(f"{h} {m[h]}" for h in ("From", "To", "Cc", "Date") if m[h])
    names = "\n".join(f"attachment {p.get_filename()}" for p in m.walk() if p.get_filename())
    return "\n".join([str(m["subject"] or ""), head, text, names])


def notebook(data):
    cells = json.loads(data)
    cells = cells.get("cells") or [c for w in cells.get("worksheets", []) for c in w["cells"]]
    parts = []
    for c in cells:
        parts.append("".join(c.get("source", c.get("input", ""))))
        for o in c.get("outputs", []):
            parts.append("".join(o.get("text", "")))
            parts.append("".join(o.get("data", {}).get("text/plain", "")))
    return "\n".join(parts)


NAMES = {"draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0", "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
         "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0", "presentation": "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
         "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"}


def flat(path, query):
    """The texts that a query finds in what LibreOffice made of a document, without those of documents in it."""
    root = lxml.etree.parse(str(path), lxml.etree.XMLParser(huge_tree=True)).getroot()
    return "\n".join("".join(n.xpath(".//text()[not(ancestor::office:binary-data)]", namespaces=NAMES)) for n in root.xpath(f"/*/office:body{query}", namespaces=NAMES)
                     if not n.xpath("ancestor::draw:object", namespaces=NAMES))


def slides(path, original):
    """The texts of a presentation, the descriptions of its pictures, and the numbers of its charts, each category once."""
    parts = [flat(path, "//draw:page//text:p[not(ancestor::*[@presentation:class='page-number' or @presentation:class='footer' or "
                  "@presentation:class='date-time'])]"), flat(path, "//draw:page//draw:frame[draw:image]/svg:desc")]
    if original.suffix == ".pptx":
        with zipfile.ZipFile(original) as z:
            for name in sorted(z.namelist()):
                if re.fullmatch(r"ppt/charts/chart[^/]*\.xml", name):
                    t = lxml.etree.fromstring(z.read(name))
                    parts.append("chart " + " ".join(t.xpath("//*[local-name()='ser'][1]/*[local-name()='cat' or local-name()='xVal']//*[local-name()='v']/text()"
                                                 "|//*[local-name()='ser']/*[local-name()='tx' or local-name()='val' or local-name()='yVal']//*[local-name()='v']/text()"
                                                 "|/*/*/*[local-name()='title']//*[local-name()='t']/text()")))
    return "\n".join(parts)


def writer(out, stem):
    """The text of a document with its notes, and with what its text boxes and descriptions of pictures say, which LibreOffice's
    own text leaves out."""
    made = out / f"{stem}.fodt"
    return (out / f"{stem}.txt").read_text("utf-8-sig") + "\n" + flat(made, "//draw:text-box//text:p|//draw:custom-shape/text:p|//draw:frame[draw:image]/svg:desc")


def hyphens(text):
    """A text of a PDF with the words that lines divide put together."""
    return re.sub(r"(?<=[^\W\d_])[-\u00ad]\n(?=[a-zß-ÿ])", "", text)


def texts(folder, entries):
    """Adds to each entry the text that must be found in it; those in which nothing is found are left out."""
    out = pathlib.Path(tempfile.mkdtemp(prefix="reference-"))
    by = {}
    for e in entries:
        kind = OFFICE.get(e["file"].rsplit(".", 1)[-1])
        if kind:
            ext = e["file"].rsplit(".", 1)[-1]
            by.setdefault((kind, ext), []).append(folder / e["file"])
    for (kind, ext), files in by.items():
        (out / ext).mkdir()
        soffice(out / ext, TARGET[kind], files)
        if kind == "writer":
            soffice(out / ext, "fodt", files)
    for e in entries:
        path, ext = folder / e["file"], e["file"].rsplit(".", 1)[-1]
        try:
            e["text"], e["table"] = one(path, ext, out / ext)
        except Exception as why:  # a document that the reference can't read says nothing of others
            print("no reference:", e["file"], e["origin"], repr(why)[:80])
            continue
        yield e


def one(path, ext, out):
    kind = OFFICE.get(ext)
    if kind == "writer":
        return writer(out, path.stem), []
    if kind == "impress":
        return slides(out / (path.stem + ".fodp"), path), []
    if kind == "calc":
        got = []
        for f in sorted(out.glob(path.stem + "*.csv")):
            got.append([f.stem.removeprefix(path.stem + "-")])  # the sheet's name
            got += list(csv.reader(io.StringIO(f.read_text("utf-8-sig", "replace"))))
        # Days are shown as the one who wrote the sheet wants them here, and as 2026-03-09 by Fawn.
        full = [[c for c in r if c.strip()] for r in got if not any(re.search(r"\d[-/.]\w+[-/.]\d|\d:\d\d", c) for c in r)]
        return "\n".join(" ".join(r) for r in got), [r for r in full if len(r) > 1][:500]
    data = path.read_bytes()
    if ext == "pdf":
        return hyphens(subprocess.run(["pdftotext", "-enc", "UTF-8", path, "-"], capture_output=True, check=True).stdout.decode("utf-8", "replace")), []
    if ext == "html":
        return page(data), []
    if ext == "epub":
        return book(data), []
    if ext == "msg":
        return outlook(path), []
    if ext == "eml":
        return mail(data), []
    return notebook(data), []
