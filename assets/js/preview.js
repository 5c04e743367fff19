// What previews of files can do besides being looked at: tabs by the arrow keys, the
// pages of a PDF or its text without loading either again, and pictures in any size.

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

// A picture fits into its room, or has a size: by buttons and keys, wheel and fingers, and
// the place that is pointed at stays where it is.
const zoom = (box) => {
  const sc = box.querySelector('.scroll'), img = box.querySelector('img'), bar = box.querySelector('.zoom'), said = bar.querySelector('output');
  const natural = () => img.naturalWidth || 300;
  const now = () => img.getBoundingClientRect().width / natural();
  const most = () => Math.max(1, Math.min(16, 16000 / Math.max(natural(), img.naturalHeight)));
  const say = () => { said.value = Math.round(now() * 100) + ' %'; };
  const set = (to, x, y) => {
    const room = sc.getBoundingClientRect(), was = img.getBoundingClientRect();
    x ??= room.left + room.width / 2;
    y ??= room.top + room.height / 2;
    box.classList.toggle('zoomed', to > 0);
    img.style.width = to ? natural() * Math.min(Math.max(to, 0.02), most()) + 'px' : '';
    const is = img.getBoundingClientRect();
    sc.scrollLeft += is.left + (x - was.left) / was.width * is.width - x;
    sc.scrollTop += is.top + (y - was.top) / was.height * is.height - y;
    say();
  };
  bar.addEventListener('click', (e) => {
    const {by, to} = e.target.closest('button')?.dataset ?? {};
    if (by) set(now() * by);
    else if (to) set(+to);
  });
  sc.addEventListener('keydown', (e) => {
    const to = {'+': () => now() * 1.25, '=': () => now() * 1.25, '-': () => now() * 0.8, 0: () => 0, 1: () => 1}[e.key];
    if (!to || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    set(to());
  });
  sc.addEventListener('wheel', (e) => {
    if (e.shiftKey) return;
    e.preventDefault();
    const lines = e.deltaMode ? 16 : 1; // a pinch on a pad comes as small steps with Ctrl
    set(now() * Math.exp(-e.deltaY * lines * (e.ctrlKey ? 0.01 : 0.002)), e.clientX, e.clientY);
  }, {passive: false});
  sc.addEventListener('dblclick', (e) => set(box.classList.contains('zoomed') ? 0 : 1, e.clientX, e.clientY));
  sc.addEventListener('pointermove', (e) => {
    if (e.pointerType !== 'mouse' || !(e.buttons & 1)) return;
    sc.scrollLeft -= e.movementX;
    sc.scrollTop -= e.movementY;
  });
  let span = 0, began = 1;
  const two = ([a, b]) => [Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), (a.clientX + b.clientX) / 2, (a.clientY + b.clientY) / 2];
  sc.addEventListener('touchstart', (e) => { if (e.touches.length === 2) { [span] = two(e.touches); began = now(); } }, {passive: true});
  sc.addEventListener('touchmove', (e) => {
    if (e.touches.length !== 2 || !span) return;
    e.preventDefault();
    const [far, x, y] = two(e.touches);
    set(began * far / span, x, y);
  }, {passive: false});
  img.addEventListener('load', say);
  new ResizeObserver(say).observe(img);
  bar.hidden = false;
};

// A document that is being converted says how far it is, and then shows itself. A page of its own
// has no panel to put it into, and is loaded again.
const wait = (el, put) => setTimeout(async () => {
  if (!el.isConnected) return;
  const t = document.createElement('template');
  try {
    const res = document.hidden || await fetch(el.dataset.wait, {headers: {'X-Fawn': '1'}});
    if (res !== true) {
      if (!res.ok) return;
      t.innerHTML = await res.text();
    }
  } catch { /* the next time */ }
  if (!el.isConnected) return;
  const next = t.content.querySelector('[data-wait]');
  if (!t.innerHTML || next) {
    if (next) el.querySelector('p').textContent = next.querySelector('p').textContent;
    wait(el, put);
  } else if (put) put(t.innerHTML);
  else location.reload();
}, 1000);

// start gives the previews in root their gestures.
export const start = (root, put) => {
  for (const el of root.querySelectorAll('[data-wait]')) wait(el, put);
  for (const el of root.querySelectorAll('[data-tabs]')) tabs(el);
  for (const el of root.querySelectorAll('[data-either]')) either(el, root);
  for (const el of root.querySelectorAll('[data-zoom]')) zoom(el);
};
