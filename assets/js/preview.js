// What previews of files can do besides being looked at: tabs by the arrow keys, and the
// pages of a PDF or its text without loading either again.

// The tabs are one stop of the Tab key; arrows go from one to the next.
const tabs = (list) => {
  const all = [...list.children];
  const now = all.find((a) => a.ariaSelected === 'true') ?? all[0];
  for (const a of all) a.tabIndex = a === now ? 0 : -1;
  list.scrollLeft = now.offsetLeft - (list.clientWidth - now.offsetWidth) / 2;
  list.addEventListener('keydown', (e) => {
    const i = all.indexOf(document.activeElement), rtl = getComputedStyle(list).direction === 'rtl' ? -1 : 1;
    const to = {ArrowRight: i + rtl, ArrowLeft: i - rtl, Home: 0, End: all.length - 1}[e.key];
    if (i < 0 || to === undefined || e.ctrlKey || e.metaKey || e.altKey) {
      if (e.key === ' ' && i >= 0) { e.preventDefault(); all[i].click(); }
      return;
    }
    e.preventDefault();
    const a = all[(to + all.length) % all.length];
    for (const x of all) x.tabIndex = x === a ? 0 : -1;
    a.focus();
  });
};

const either = (group, root) => {
  const duo = root.querySelector('.duo'), links = [...group.children], doc = duo.querySelector('[data-at]');
  const show = (a) => {
    const hidden = !doc.checkVisibility();
    duo.classList.toggle('words', a === links[1]);
    for (const x of links) x.ariaCurrent = String(x === a);
    if (hidden && !('seen' in doc.dataset)) document.getElementById('at-' + doc.dataset.at)?.scrollIntoView();
    if (doc.checkVisibility()) doc.dataset.seen = '';
  };
  if (navigator.pdfViewerEnabled === false) show(links[1]);
  group.addEventListener('click', (e) => {
    const a = e.target.closest('a');
    if (!a || e.button || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    show(a);
    history.replaceState(history.state, '', a.dataset.push ?? a.href);
  });
};

// start gives the previews in root their gestures.
export const start = (root) => {
  for (const el of root.querySelectorAll('[data-tabs]')) tabs(el);
  for (const el of root.querySelectorAll('[data-either]')) either(el, root);
};
