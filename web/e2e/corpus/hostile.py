"""Files that are broken, locked, or made to hurt whoever opens them."""
import io
import zipfile
import zlib

import pypdf

import office
import plain
import portable

DOC = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:body></w:document>'
ODT = "application/vnd.oasis.opendocument.text"
TEXT = ('<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
        "<office:body><office:text><text:p>%s</text:p></office:text></office:body></office:document-content>")
LAUGHS = ('<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)) + "]>")


def add(corpus, content):
    c = content("en", "hostile", 40)
    bad = corpus.bad
    bad("locked.pdf", lambda path: locked(path, c), "encrypted")
    bad("cyclic.pdf", lambda path: path.write_bytes(cyclic()), "damaged", "empty", "scanned", "long")
    bad("loop.pdf", lambda path: path.write_bytes(loop()), "damaged", "empty", "scanned", "")
    bad("laughs.docx", lambda path: zipped(path, {"word/document.xml": LAUGHS + DOC % "&a11;"}), "", "damaged", "empty")
    bad("laughs.xlsx", lambda path: zipped(path, {"xl/workbook.xml": LAUGHS + "<workbook><sheets><sheet name='&a11;'/></sheets></workbook>"}), "", "damaged", "empty")
    bad("outside.docx", lambda path: zipped(path, {"word/document.xml": '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + DOC % "&a;"}),
        "", "damaged", "empty", absent="root:")
    bad("nested.docx", lambda path: path.write_bytes(nested(8)), "unsupported")
    bad("deep.docx", lambda path: zipped(path, {"word/document.xml": "<w:p>" * 100_000}), "limits")
    bad("cut.docx", lambda path: cut(path, lambda p: office.word(p, c, "table")), "damaged")
    bad("cut.pdf", lambda path: cut(path, lambda p: portable.written(p, c, "text")), "damaged", "empty", "scanned", "")
    bad("package.docx", lambda path: path.write_bytes(bytes.fromhex("D0CF11E0A1B11AE1") + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(2000)), "encrypted")
    bad("none.pdf", lambda path: path.write_bytes(b""), "damaged")
    bad("deep.html", lambda path: path.write_text("<div>" * 200_000), "limits", "empty", "")
    bad("deep.rtf", lambda path: path.write_text("{\\rtf1 " + "{" * 500_000), "empty", "limits", "damaged")
    bad("deep.ipynb", lambda path: path.write_text('{"cells":' + "[" * 500_000), "damaged", "limits")
    bad("cut.xlsx", lambda path: cut(path, lambda p: office.sheets(p, c, "table")), "damaged")
    bad("cut.pptx", lambda path: cut(path, lambda p: office.slides(p, c, "table")), "damaged")
    bad("cut.epub", lambda path: cut(path, lambda p: plain.book(p, c)), "damaged")
    bad("noise.pdf", lambda path: path.write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 4000), "damaged")
    bad("picture.pdf", lambda path: path.write_bytes(picture()), "scanned")
    bad("rows.xlsx", rows, "long")
    bad("bomb-deflate.docx", lambda path: bomb(path, "word/document.xml", 400), "limits", "damaged")
    bad("bomb-deflate.odt", lambda path: bomb(path, "content.xml", 400, {"mimetype": ODT}), "limits", "damaged")
    bad("bomb-stream.pdf", lambda path: path.write_bytes(stream(1 << 30)), "empty", "scanned", "damaged", "crashed", "limits")
    bad("laughs.odt", lambda path: zipped(path, {"mimetype": ODT, "content.xml": LAUGHS + TEXT % "&a11;"}), "", "damaged", "empty")
    bad("cut.odt", lambda path: cut(path, lambda p: zipped(p, {"mimetype": ODT, "content.xml": TEXT % c.words()})), "damaged")
    bad("entries.docx", lambda path: zipped(path, {f"word/x{i}.xml": "" for i in range(70_000)}), "limits", "unsupported")


def zipped(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in parts.items():
            z.writestr(name, text)


def cut(path, make):
    make(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 5])


def locked(path, c):
    portable.written(path, c, "text")
    w = pypdf.PdfWriter(clone_from=path)
    w.encrypt("secret", "owner", algorithm="RC4-128")
    w.write(path)


def objects(*all):
    out, at = b"%PDF-1.4\n", []
    for i, o in enumerate(all):
        at.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (i + 1, o)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(all) + 1) + b"".join(b"%010d 00000 n \n" % n for n in at)
    return out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(all) + 1, start)


def cyclic():
    return objects(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R 2 0 R]/Count 1000000/Parent 3 0 R>>",
                   b"<</Type/Pages/Kids[2 0 R 3 0 R]/Count 1000000/Parent 2 0 R>>")


def loop():
    return b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 1 0 R>>\nendobj\nxref\n0 1\n0000000000 65535 f \ntrailer<</Size 2/Root 1 0 R/Prev 9>>\nstartxref\n56\n%%EOF\n"


def framed(content, more=b""):
    return objects(b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
                   b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</XObject<</I 5 0 R>>>>/Contents 4 0 R>>",
                   b"<<%s/Length %d>>stream\n%s\nendstream" % (more, len(content), content),
                   b"<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>stream\n0\nendstream")


def picture():
    return framed(b"q 600 0 0 800 0 0 cm /I Do Q")


def stream(size):
    packer, out = zlib.compressobj(9), []
    for _ in range(size >> 20):
        out.append(packer.compress(b" " * (1 << 20)))
    return framed(b"".join(out) + packer.flush(), b"/Filter/FlateDecode")


def bomb(path, part, megabytes, more=None):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in (more or {}).items():
            z.writestr(name, text)
        with z.open(part, "w", force_zip64=True) as f:
            f.write(b"<w:document><w:body><w:p><w:r><w:t>")
            for _ in range(megabytes):
                f.write(b"a" * (1 << 20))


def nested(levels):
    data = b"x" * 1000
    for i in range(levels):
        b = io.BytesIO()
        with zipfile.ZipFile(b, "w", zipfile.ZIP_DEFLATED) as z:
            for j in range(10):
                z.writestr(f"{j}.zip", data)
        data = b.getvalue()
    return data


def rows(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("xl/workbook.xml", '<workbook xmlns:r="r"><sheets><sheet name="All" sheetId="1" r:id="rId1"/></sheets></workbook>')
        z.writestr("xl/_rels/workbook.xml.rels", '<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>')
        with z.open("xl/worksheets/sheet1.xml", "w") as f:
            f.write(b"<worksheet><sheetData>")
            for i in range(1, 1048577):
                f.write(b'<row r="%d"><c r="A%d"><v>%d</v></c></row>' % (i, i, i * 7))
            f.write(b"</sheetData></worksheet>")
