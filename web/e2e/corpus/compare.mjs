// Sets Fawn beside markitdown on the documents of the corpus that must be read well:
//
//   python3 -m venv v && v/bin/pip install -r requirements.txt 'markitdown[all]'
//   v/bin/python make.py files && node compare.mjs files v/bin [every]
//
// Each document is read by a process of its own. Prints the table of docs/documents.md.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { entries, print } from './print.mjs';
import { f1, headings, plain, table } from './score.mjs';

const [dir, bin, every = 1] = process.argv.slice(2);
const here = fileURLToPath(new URL('.', import.meta.url)), out = mkdtempSync(join(tmpdir(), 'fawn-compare-'));
if (entries(dir).some((e) => e.print && !existsSync(join(dir, e.file)))) await print(dir);

const env = { ...process.env, FAWN_CONVERT_CACHE: join(out, 'cache') };
const measure = (name, program, ...args) =>
  JSON.parse(spawnSync('python3', [join(here, 'measure.py'), name, program, ...args], { encoding: 'utf8', env }).stdout);
const fawn = join(here, '..', '..', '..', 'bin', 'fawn'), markitdown = join(bin, 'markitdown');
const tools = {
  Fawn: (from, to, name) => measure('fawn-convert', fawn, from, to, name),
  markitdown: (from, to) => measure(markitdown, markitdown, from, '-o', to),
};
measure('fawn-convert', fawn, '', '', ''); // compiles the PDF reader, as a server does once
const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;

const rows = new Map();
entries(dir).filter((e) => !e.reasons).filter((_, i) => i % every === 0).forEach((e, i) => {
  for (const [tool, read] of Object.entries(tools)) {
    const to = join(out, `${i}-${tool}.md`), took = read(join(dir, e.file), to, e.file);
    const text = existsSync(to) ? readFileSync(to, 'utf8') : '';
    const kind = e.file.split('.').pop().toUpperCase();
    for (const group of [kind, 'all']) {
      const key = `${group} ${tool}`;
      if (!rows.has(key)) rows.set(key, { f1: [], headings: [], table: [], seconds: [], mb: [] });
      const r = rows.get(key);
      r.f1.push(f1(e.text, plain(text)));
      if (e.headings.length) r.headings.push(headings(e.headings, text));
      if (e.table.length) r.table.push(table(e.table, text));
      r.seconds.push(took.seconds);
      r.mb.push(took.mb);
    }
  }
});
rmSync(out, { recursive: true });

const share = (list) => list.length ? `${Math.round(100 * mean(list))} %` : '–';
console.log('| Format | Documents | Word F1 | Headings kept | Rows of tables kept | Seconds | Memory, MiB |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |');
for (const group of [...new Set([...rows.keys()].map((k) => k.split(' ')[0]))].sort((a, b) => (a === 'all') - (b === 'all') || a.localeCompare(b))) {
  const both = (show) => Object.keys(tools).map((t) => show(rows.get(`${group} ${t}`))).join(' / ');
  console.log(`| ${group} | ${rows.get(group + ' Fawn').f1.length} | ${both((r) => mean(r.f1).toFixed(3))} | ${both((r) => share(r.headings))} | ` +
    `${both((r) => share(r.table))} | ${both((r) => mean(r.seconds).toFixed(2))} | ${both((r) => Math.max(...r.mb).toFixed(0))} |`);
}
