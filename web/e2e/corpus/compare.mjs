// Sets Fawn beside markitdown on documents that must be read well: those of make.py here, or those that others/gather.py
// gathered.
//
//   python3 -m venv v && v/bin/pip install -r requirements.txt 'markitdown[all]'
//   v/bin/python make.py files && node compare.mjs files v/bin [every]
//
// Each document is read by a process of its own, unless others/markitdown_all.py has had markitdown read it before. Prints
// the tables of docs/documents.md, and to standard error the documents of which Fawn lost most. What markitdown makes of a
// document is kept beside it, in NAME.markitdown.json. FAWN names another program than bin/fawn.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { f1, headings, plain, table } from './score.mjs';

const [dir, bin, every = 1] = process.argv.slice(2);
const here = fileURLToPath(new URL('.', import.meta.url)), out = mkdtempSync(join(tmpdir(), 'fawn-compare-'));
const all = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8'));
if (all.some((e) => e.print && !existsSync(join(dir, e.file)))) await (await import('./print.mjs')).print(dir);

const env = { ...process.env, FAWN_CONVERT_CACHE: join(out, 'cache') };
const fawn = process.env.FAWN ?? join(here, '..', '..', '..', 'bin', 'fawn'), markitdown = join(bin, 'markitdown'), python = join(bin, 'python');
const measure = (name, program, ...args) =>
  JSON.parse(spawnSync(python, [join(here, 'measure.py'), name, program, ...args], { encoding: 'utf8', env }).stdout);
const read = (to) => (existsSync(to) ? readFileSync(to, 'utf8') : '');
const tools = {
  Fawn: (file) => {
    const to = join(out, 'fawn.md');
    rmSync(to, { force: true });
    const took = measure('fawn-convert', fawn, join(dir, file), to, file);
    return { ...took, text: read(to) };
  },
  markitdown: (file) => {
    const kept = join(dir, `${file}.markitdown.json`), to = join(out, 'markitdown.md');
    if (!existsSync(kept)) {
      rmSync(to, { force: true });
      const took = measure(markitdown, markitdown, join(dir, file), '-o', to);
      writeFileSync(kept, JSON.stringify({ ...took, text: read(to) }));
    }
    return JSON.parse(readFileSync(kept, 'utf8'));
  },
};
measure('fawn-convert', fawn, '', '', ''); // compiles the PDF reader, as a server does once
const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;

// Groups are formats, and programs where the corpus names these.
const groups = { Format: new Map(), Producer: new Map() }, worst = [];
for (const e of all.filter((e) => !e.reasons).filter((_, i) => i % every === 0)) {
  const extension = e.file.split('.').pop().toUpperCase(), line = [e.file, e.producer];
  for (const [tool, convert] of Object.entries(tools)) {
    const { text, seconds, mb } = convert(e.file);
    const got = { f1: f1(e.text, plain(text)), rows: e.table.length ? table(e.table, text) : -1 };
    line.push(got.f1.toFixed(3), got.rows < 0 ? '–' : got.rows.toFixed(2));
    if (tool === 'Fawn') worst.push({ line, at: Math.min(got.f1, got.rows < 0 ? 1 : got.rows) });
    for (const [kind, group] of [['Format', extension], ['Format', 'all'], ...e.producer ? [['Producer', e.producer], ['Producer', 'all']] : []]) {
      if (!groups[kind].has(group)) groups[kind].set(group, Object.fromEntries(Object.keys(tools).map((t) => [t, { f1: [], headings: [], rows: [], seconds: [], mb: [] }])));
      const r = groups[kind].get(group)[tool];
      r.f1.push(got.f1);
      if (e.headings.length) r.headings.push(headings(e.headings, text));
      if (got.rows >= 0) r.rows.push(got.rows);
      r.seconds.push(seconds);
      r.mb.push(mb);
    }
  }
}
rmSync(out, { recursive: true });

const share = (list) => list.length ? `${Math.round(100 * mean(list))} %` : '–';
for (const [kind, rows] of Object.entries(groups).filter(([, rows]) => rows.size)) {
  const withHeadings = [...rows.values()].some((r) => r.Fawn.headings.length);
  const columns = [['Word F1', (r) => mean(r.f1).toFixed(3)], ...withHeadings ? [['Headings kept', (r) => share(r.headings)]] : [],
    ['Rows of tables kept', (r) => share(r.rows)],
    ...groups.Producer.size ? [] : [['Seconds', (r) => mean(r.seconds).toFixed(2)], ['Memory, MiB', (r) => Math.max(...r.mb).toFixed(0)]]];
  console.log(`| ${[kind, 'Documents', ...columns.map(([name]) => name)].join(' | ')} |\n| --- |${' ---: |'.repeat(columns.length + 1)}`);
  for (const [group, r] of [...rows].sort(([a], [b]) => (a === 'all') - (b === 'all') || a.localeCompare(b))) {
    console.log(`| ${[group, r.Fawn.f1.length, ...columns.map(([, show]) => Object.keys(tools).map((t) => show(r[t])).join(' / '))].join(' | ')} |`);
  }
  console.log();
}
for (const { line, at } of worst.sort((a, b) => a.at - b.at).slice(0, 80)) if (at < 0.97) console.error(line.join('  '));
