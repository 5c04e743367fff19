// How much of a document its Markdown holds.

// words are the words of a text; scripts without spaces have one a character.
export const words = (text) => text.normalize('NFKC').toLowerCase().match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}\p{M}]+/gu) ?? [];

// plain is Markdown without its marks, such as the language of code and what stands in the place of pictures.
export const plain = (markdown) => markdown
  .replace(/^<!-- \w+ \d+ -->$/gm, '')
  .replace(/^```\w*$/gm, '')
  .replace(/\[(image|chart)\]/g, '')
  .replace(/\[(?:image|chart): ([^\]]*)\]/g, '$1')
  .replace(/\]\([^)\s]*\)/g, ']')
  .replace(/\\([\\|*_`[\]()#+.!-])/g, '$1')
  .replace(/\*\*/g, '');

const counts = (list) => {
  const n = new Map();
  for (const w of list) n.set(w, (n.get(w) ?? 0) + 1);
  return n;
};

// f1 weighs words that are missing and words that should not be there.
export const f1 = (want, got) => {
  const a = words(want), b = words(got), there = counts(b);
  let hits = 0;
  for (const [w, n] of counts(a)) hits += Math.min(n, there.get(w) ?? 0);
  return hits ? 2 * hits / (a.length + b.length) : 0;
};

const same = (a, b) => words(a).join(' ') === words(b).join(' ');

// headings is the share of headings that are marked as such.
export const headings = (want, markdown) => {
  const got = [...markdown.matchAll(/^#+ (.*)$/gm)].map((m) => plain(m[1]));
  return want.filter((h) => got.some((g) => same(h, g))).length / want.length;
};

// table is the share of rows that are rows of a table, with each cell of its own.
export const table = (want, markdown) => {
  const rows = markdown.split('\n').map((l) => l.replace(/^(> ?)+/, '')).filter((l) => l.startsWith('|'))
    .map((l) => l.slice(1, -1).split(/(?<!\\)\|/).map((c) => plain(c).trim()).filter((c) => c !== ''));
  return want.filter((w) => rows.some((r) => r.length === w.length && w.every((c, i) => same(c, r[i])))).length / want.length;
};

// order says whether texts follow one another.
export const order = (want, markdown) => {
  const got = words(plain(markdown)).join(' ');
  let at = 0;
  return want.every((w) => (at = got.indexOf(words(w).join(' '), at) + 1) > 0);
};

// problems are what a document of the corpus lacks.
export const problems = (entry, markdown) => {
  const found = [], f = f1(entry.text, plain(markdown));
  if (f < 0.95) found.push(`word F1 ${f.toFixed(3)}`);
  if (entry.headings.length && headings(entry.headings, markdown) < 1) found.push(`headings ${headings(entry.headings, markdown).toFixed(2)}`);
  if (entry.table.length && table(entry.table, markdown) < 1) found.push(`rows of tables ${table(entry.table, markdown).toFixed(2)}`);
  if (!order(entry.order, markdown)) found.push('order');
  for (const l of entry.links ?? []) if (!markdown.includes(`](${l})`)) found.push('links');
  return found;
};
