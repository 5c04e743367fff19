// Follow the tail while the reader is at the end, and never against their will.
import {$, later, on, say, word} from './dom.js';

let sc, follow = true, lastTop = 0, climbs = false, max = 0, prevMax = 0, left = 0, seen;

const bottom = () => sc.scrollHeight - sc.clientHeight;

// About how many lines have come since the reader left the end.
const lines = () => Math.round((sc.scrollHeight - left) / 27);

const set = (v) => {
  if (follow && !v) left = sc.scrollHeight;
  follow = v;
  sc.dataset.follow = v;
  const b = $('down');
  if (!b) return;
  b.hidden = v || bottom() - sc.scrollTop < 60;
  if (!v) b.lastElementChild.textContent = lines() > 0 && $('turns').hasAttribute('data-running') ? word('live-newlines', lines()) : '';
};

export const toEnd = () => {
  if (!sc) return;
  set(true);
  sc.scrollTop = max = prevMax = bottom();
  lastTop = sc.scrollTop;
};

// stay keeps a reader who follows at the end, and glide lets what a change moves glide to its new place.
export const stay = () => { if (follow && sc) sc.scrollTop = bottom(); };
export const glide = (change) => later('glide').then((m) => m.glide(change, stay), () => { change(); stay(); });

// What comes above the reader pushes nothing down: the page moves along.
const shift = (by) => {
  sc.scrollTop += by;
  lastTop = sc.scrollTop;
  max += by;
  prevMax += by;
};
const hold = (el, change) => {
  const was = el.getBoundingClientRect().top;
  change();
  for (const t of $('turns').children) measure(t);
  if (!follow) shift(el.getBoundingClientRect().top - was);
};

// steady makes a change and leaves what a reader who has gone back sees where it is.
export const steady = (change) => {
  const box = follow ? null : sc?.getBoundingClientRect();
  const at = (y) => document.elementFromPoint(box.left + box.width / 2, box.top + y);
  const el = box && [1, 30, 60].map(at).find((e) => e?.closest('.turn') && !e.matches('.turn'));
  if (!el) { change(); return; }
  const was = el.getBoundingClientRect().top;
  change();
  for (const t of $('turns').children) if (heights.has(t)) heights.set(t, t.offsetHeight); // the observer leaves these to this shift
  if (el.isConnected) shift(el.getBoundingClientRect().top - was);
};

// A turn is only laid out when it comes near the screen, and takes this much until then.
const unseen = 320, heights = new WeakMap();
const measure = (t) => {
  if (heights.has(t)) return;
  heights.set(t, t.offsetHeight);
  sizes.observe(t);
};
const sizes = new ResizeObserver((list) => {
  const {top: edge, bottom: end} = sc.getBoundingClientRect();
  let by = 0;
  const seen = list.filter(({target: t}) => t.isConnected).map(({target: t}) => ({t, top: t.getBoundingClientRect().top})).sort((a, b) => a.top - b.top);
  for (const {t, top} of seen) {
    const h = t.offsetHeight, was = heights.get(t);
    heights.set(t, h);
    // One that is seen for the first time by a reader on the way up grows upwards.
    if (climbs && was === unseen ? top - by < end : top + was - by <= edge) by += h - was;
  }
  if (by && !follow) shift(by - (sc.scrollTop - lastTop)); // the browser itself may have followed an address
});

export const start = () => {
  sc = $('scroll');
  const content = $('turns');
  if (!sc || !content) return;
  on(sc, 'wheel', (e) => { if (e.deltaY < 0 && bottom() > 0) set(false); }, {passive: true});
  let touchY = 0;
  on(sc, 'touchstart', (e) => { touchY = e.touches[0].clientY; }, {passive: true});
  on(sc, 'touchmove', (e) => { if (e.touches[0].clientY > touchY + 4) set(false); }, {passive: true});
  on(sc, 'keydown', (e) => {
    if (e.key === 'PageUp' || e.key === 'ArrowUp' || e.key === 'Home') set(false);
    if (e.key === 'End') toEnd();
  });
  on(document, 'selectionchange', () => {
    const s = getSelection();
    if (!s || s.isCollapsed || !content.contains(s.anchorNode)) return;
    set(false);
    later('ask').then((m) => m.start());
  });
  on(sc, 'scroll', () => {
    const top = sc.scrollTop;
    if (top !== lastTop) climbs = top < lastTop && top > lastTop - sc.clientHeight;
    if (top < lastTop - 2 && bottom() - top > 24) set(false);
    // The end is the one the reader could see: a frame may have grown the page since.
    else if (top > lastTop && top >= prevMax - 24) set(true);
    lastTop = top;
    const b = $('down');
    if (b && !b.hidden && bottom() - top < 60) b.hidden = true;
  }, {passive: true});
  new ResizeObserver(() => {
    prevMax = max;
    max = bottom();
    // A moment later the reader has seen the new end, and only that one is the end.
    clearTimeout(seen);
    seen = setTimeout(() => { prevMax = max; }, 300);
    if (follow) { sc.scrollTop = max; lastTop = sc.scrollTop; }
    else set(false);
  }).observe(content);
  on($('down'), 'click', () => { toEnd(); $('q')?.focus({preventScroll: true}); });
  const id = decodeURIComponent(location.hash.slice(1)), m = $(id) ?? $(id.replace('m-', 'nt-'));
  if (content.contains(m)) {
    for (let d = m; (d = d.parentElement.closest('details')); ) d.open = true;
    set(false);
    m.scrollIntoView();
    lastTop = sc.scrollTop;
    max = prevMax = bottom();
  } else toEnd();
  for (const t of content.children) measure(t);
  new MutationObserver(() => { for (const t of content.children) measure(t); }).observe(content, {childList: true});
  if (content.querySelector('.gap')) later('gaps').then((g) => g.start(sc, hold, () => say(word('live-loaded')))).catch(() => {}); // they are links, too
};
