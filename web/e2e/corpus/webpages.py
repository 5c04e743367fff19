"""Word F1 of the text that Fawn and trafilatura find in web pages.

    webpages.py FAWN [FOLDER]

FAWN is the program. The pages are those of Debian's documentation packages, which apt-get downloads; what of a page
is its text is told by the marks of the tool that made it, which neither program knows. FOLDER has further pages,
NAME.html with the text in NAME.txt, as the test TestArticlesAreFound writes them (FAWN_PAGES=FOLDER). It needs
trafilatura and lxml_html_clean from PyPI.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import lxml.html
import trafilatura

LEAST = 120  # words of a page that is measured

# Of each package: pages, how many of them, where the text is, and what in it is not of the text.
MAIN = '//*[@role="main"]'
DOCBOOK = '*[@class="navheader" or @class="navfooter"]'
PACKAGES = [
    ('python library', 'python3.11-doc', 'doc/python3.11/html/library/*.html', 14, MAIN, 'a[@class="headerlink"]'),
    ('python tutorial', 'python3.11-doc', 'doc/python3.11/html/tutorial/*.html', 8, MAIN, 'a[@class="headerlink"]'),
    ('git manual', 'git-doc', 'doc/git-doc/git-*.html', 14, '//body', '*[@id="footer"]'),
    ('handbook, English', 'debian-handbook', 'doc/debian-handbook/html/en-US/*.html', 10, '//body', 'NAV'),
    ('handbook, Chinese', 'debian-handbook', 'doc/debian-handbook/html/zh-CN/*.html', 10, '//body', 'NAV'),
    ('handbook, Japanese', 'debian-handbook', 'doc/debian-handbook/html/ja-JP/*.html', 10, '//body', 'NAV'),
    ('handbook, Arabic', 'debian-handbook', 'doc/debian-handbook/html/ar-MA/*.html', 10, '//body', 'NAV'),
    ('reference, Chinese', 'debian-reference-zh-cn', 'debian-reference/*.html', 8, '//body', DOCBOOK),
    ('developers, English', 'developers-reference', 'developers-reference/*.html', 6, MAIN, 'a[@class="headerlink"]'),
    ('developers, Japanese', 'developers-reference-ja', 'developers-reference/ja/*.html', 6, MAIN, 'a[@class="headerlink"]'),
    ('questions, Russian', 'debian-faq-ru', 'doc/debian/FAQ/ru/*.html', 8, '//body', DOCBOOK),
]
NAV = '*[contains(@class, "docnav") or @id="title" or @class="producttitle"]'


def unpacked(dir):
    names = sorted({p[1] for p in PACKAGES})
    subprocess.run(['apt-get', 'download', '-q', *names], cwd=dir, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for deb in dir.glob('*.deb'):
        subprocess.run(['dpkg-deb', '-x', deb, dir / 'x'], check=True)
    return dir / 'x' / 'usr' / 'share'


def words(text):
    """Words, and in scripts without spaces signs."""
    found = []
    for w in re.findall(r'[^\W_]+', text.lower()):
        if re.search('[\u3040-\u30ff\u3400-\u9fff]', w):
            found += w
        else:
            found.append(w)
    return collections.Counter(found)


def f1(got, want):
    both, all = sum((got & want).values()), sum(got.values()) + sum(want.values())
    return 2 * both / all if all else 1


def gold(raw, where, without):
    doc = lxml.html.fromstring(raw)
    found = doc.xpath(where)
    if not found:
        return ''
    main = found[0]
    for gone in main.xpath('.//' + (NAV if without == 'NAV' else without)) + main.xpath('.//script|.//style|.//head'):
        gone.drop_tree()
    for block in main.xpath('.//p|.//li|.//td|.//th|.//dt|.//dd|.//pre|.//div|.//h1|.//h2|.//h3|.//h4|.//br'):
        block.tail = '\n' + (block.tail or '')
    return main.text_content()


def ours(fawn, raw, dir):
    page, text = dir / 'page', dir / 'text'
    page.write_bytes(b'https://site.example/a/b.html\n' + raw.decode('utf-8', 'replace').encode())
    text.unlink(missing_ok=True)
    subprocess.run(['fawn-convert', page, text, 'page.webpage'], executable=fawn, check=True, stdout=subprocess.DEVNULL)
    return re.sub(r'\]\([^)]*\)', ']', text.read_text()) if text.exists() else ''


def theirs(raw):
    return trafilatura.extract(raw, include_comments=False, include_tables=True, favor_recall=False) or ''


def main():
    fawn, rows = pathlib.Path(sys.argv[1]).resolve(), collections.defaultdict(lambda: [])
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        share = unpacked(tmp)
        for name, _, pattern, most, where, without in PACKAGES:
            pages = []
            for path in sorted(p for p in share.glob(pattern)):
                raw = path.read_bytes()
                text = words(gold(raw, where, without))
                if sum(text.values()) >= LEAST:
                    pages.append((path, raw, text))
            for path, raw, text in pages[::max(1, len(pages) // most)][:most]:
                rows[name].append((f1(words(ours(fawn, raw, tmp)), text), f1(words(theirs(raw)), text), path.name))
        for path in sorted(pathlib.Path(sys.argv[2]).glob('*.html')) if len(sys.argv) > 2 else []:
            raw, text = path.read_bytes(), words(path.with_suffix('.txt').read_text())
            rows[path.stem.split('-')[0]].append((f1(words(ours(fawn, raw, tmp)), text), f1(words(theirs(raw)), text), path.name))
    print('| Pages | Number | Word F1, Fawn | Word F1, trafilatura |\n|---|---:|---:|---:|')
    every = [r for some in rows.values() for r in some]
    for name, some in [*rows.items(), ('all', every)]:
        mean = [sum(r[i] for r in some) / len(some) for i in (0, 1)]
        print(f'| {name} | {len(some)} | {mean[0]:.3f} | {mean[1]:.3f} |')
    for a, b, name in sorted(every)[:12]:
        print(f'{name}: {a:.3f} {b:.3f}', file=sys.stderr)


main()
