// What a change of the layout moves glides to its new place from where it was, so that nothing jumps under the reader.
// Each part moves by what its own parts don't share with it.
const parts = '.bar > *, .read, .dock, .turn > *, .ans > .md > *, .you, .composer, .composer > *, .fine, .asks, #todos, .queue';

export const glide = (change, after) => {
  const all = [...document.querySelectorAll(parts)].map((el) => [el, el.getBoundingClientRect()]);
  change();
  after();
  const moved = new Map();
  for (const [el, {left, top}] of all) {
    const now = el.getBoundingClientRect();
    moved.set(el, [left - now.left, top - now.top]);
  }
  const duration = matchMedia('(prefers-reduced-motion: reduce)').matches ? 1 : 200;
  for (const [el, [x, y]] of moved) {
    let p = el.parentElement;
    while (p && !moved.has(p)) p = p.parentElement;
    const [px, py] = moved.get(p) ?? [0, 0];
    if (x - px || y - py) el.animate([{transform: `translate(${x - px}px, ${y - py}px)`}, {transform: 'none'}], {duration, easing: 'cubic-bezier(.2,.7,.2,1)'});
  }
};

// main is the result of a turn that a person would open first: a page or a document before pictures, tables and scripts.
const kinds = ['html', 'htm', 'pdf', 'docx', 'pptx', 'md', 'xlsx', 'svg', 'png', 'jpg', 'jpeg', 'webp', 'csv', 'tsv'];
const rank = (a) => { const i = kinds.indexOf(a.dataset.panel.split('.').pop().toLowerCase()); return i < 0 ? kinds.length : i; };
export const main = (turn) => [...turn?.querySelectorAll('.cards a.open[data-panel]') ?? []].sort((a, b) => rank(a) - rank(b))[0];
