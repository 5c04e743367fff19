// Small helpers and the swapper that applies frames of the live protocol.

export const $ = (id) => document.getElementById(id);
export const on = (el, type, fn, opt) => el && el.addEventListener(type, fn, opt);

const base = document.currentScript.src.replace(/[^/]+$/, '');
// Code that only some readers need comes when they need it.
export const later = (name) => import(base + name + '.js');

// So do rules of style; what needs them in the HTML brings them by itself.
export const sheet = (name) => {
  const href = base.replace(/^\w+:\/\/[^/]+/, '') + name + '.css';
  if (document.querySelector(`link[href="${href}"]`)) return;
  document.head.append(Object.assign(document.createElement('link'), {rel: 'stylesheet', href}));
};

// A sentence of the catalogue with %s filled in.
export const word = (key, ...args) => {
  let s = $('words')?.getAttribute('data-' + key) ?? '';
  for (const a of args) s = s.replace('%s', a);
  return s;
};

// Tell screen readers, at most every four seconds; the last one wins.
let nextSay = 0, sayTimer;
export const say = (text) => {
  if (!text) return;
  clearTimeout(sayTimer);
  sayTimer = setTimeout(() => {
    nextSay = Date.now() + 4000;
    const el = $('say');
    if (el) el.textContent = text;
  }, Math.max(60, nextSay - Date.now()));
};

export const icon = (name) => {
  const use = document.querySelector('svg.icon use');
  const sprite = (use?.getAttribute('href') ?? '').split('#')[0];
  const s = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  s.setAttribute('class', 'icon');
  s.setAttribute('aria-hidden', 'true');
  const u = document.createElementNS('http://www.w3.org/2000/svg', 'use');
  u.setAttribute('href', sprite + '#' + name);
  s.append(u);
  return s;
};

export const toast = (text, kind = 'error') => {
  const box = $('toasts');
  if (!box) return;
  while (box.children.length > 2) box.firstElementChild.remove();
  const t = document.createElement('div');
  t.className = 'toast ' + kind;
  t.role = kind === 'error' ? 'alert' : 'status';
  const s = document.createElement('span');
  s.textContent = text;
  const b = document.createElement('button');
  b.type = 'button';
  b.className = 'btn sq';
  b.dataset.close = '';
  b.ariaLabel = word('toast-close');
  b.append(icon('x'));
  t.append(icon(kind === 'error' ? 'circle-alert' : 'info'), s, b);
  box.append(t);
  fade(t, 6);
};

// A toast goes by itself, but not while somebody looks at it.
export const fade = (t, left) => {
  const tick = setInterval(() => {
    if (t.matches(':hover, :focus-within')) return;
    if (--left <= 0 || !t.isConnected) { clearInterval(tick); t.remove(); }
  }, 1000);
};

const parse = (html) => {
  const t = document.createElement('template');
  t.innerHTML = html;
  return t.content;
};

// What the reader opened or closed by hand stays so when an element is replaced.
const keepFolds = (old, now) => {
  for (const d of [old, ...old.querySelectorAll('details[id]')]) {
    if (d.tagName !== 'DETAILS' || !('touched' in d.dataset)) continue;
    const n = now.id === d.id ? now : now.querySelector('#' + CSS.escape(d.id));
    if (n) { n.open = d.open; n.dataset.touched = ''; }
  }
};

// A step may leave the list to join a group a moment later: what the reader had
// opened in it and where the focus was come back there.
const opened = new Set();
let lost = '';
const leave = (el) => {
  for (const d of el.querySelectorAll('details[id]')) if (d.open && 'touched' in d.dataset) opened.add(d.id);
  if (el.contains(document.activeElement)) lost = document.activeElement.id || el.id;
  el.remove();
};
const comeBack = (el) => {
  for (const id of opened) {
    for (let d = el.querySelector('#' + CSS.escape(id)); d && opened.delete(id); ) {
      for (; d; d = d.parentElement.closest('details.sd')) { d.open = true; d.dataset.touched = ''; }
    }
  }
  if (!lost || !$(lost) || !el.contains($(lost))) return;
  $(lost).focus({preventScroll: true});
  if (document.activeElement.id !== lost) el.closest('.group')?.querySelector('summary').focus({preventScroll: true});
  lost = '';
};

const replace = (old, html) => {
  const now = parse(html).firstElementChild;
  if (!now) return old.remove();
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  keepFolds(old, now);
  old.replaceWith(now);
  window.htmx?.process(now);
  for (const i of old.querySelectorAll('input, textarea, select')) {
    const n = $(i.id) ?? i;
    if (i.value !== i.defaultValue) n.value = i.value;
    if (i.checked !== i.defaultChecked) n.checked = i.checked;
  }
  if (focused) {
    // The element with the focus is gone: its successor, by id or by place, takes it.
    const next = (focused.id && $(focused.id)) || now.querySelector('button, a, summary') || now;
    if (focused.tagName === next.tagName) { next.focus({preventScroll: true}); if (focused.selectionEnd) next.setSelectionRange(focused.selectionStart, focused.selectionEnd); }
    else $('q')?.focus({preventScroll: true});
  }
};

const insert = (target, how, html) => {
  for (const el of [...parse(html).children]) {
    const same = el.id && $(el.id);
    if (same) { replace(same, el.outerHTML); continue; }
    if (how === 'append') target.append(el);
    else target.before(el);
    window.htmx?.process(el);
    if (el.matches('.toast')) fade(el, 8);
    comeBack(el);
  }
  opened.clear();
};

// What comes in place of the inside of an element. Earlier turns that the reader has loaded
// stay above those that are told anew.
const renew = (el, now) => {
  const first = now.querySelector('.turn'), above = [];
  for (let n = first && $(first.id)?.previousElementSibling; n; n = n.previousElementSibling) above.unshift(n);
  if (above.some((n) => n.matches('.turn'))) now.querySelector('.gap')?.remove();
  else above.length = 0;
  el.replaceChildren(...above, now);
};

const swap = ({target, how, html = ''}) => {
  const el = $(target);
  if (!el) return;
  switch (how) {
    case 'outer': replace(el, html); break;
    case 'inner': renew(el, parse(html)); window.htmx?.process(el); break;
    case 'append': case 'before': insert(el, how, html); break;
    case 'remove': leave(el); break;
    case 'class':
      el.className = html;
      el.toggleAttribute('aria-busy', /\b(run|wait)\b/.test(html));
      if (el.hasAttribute('aria-busy')) el.setAttribute('aria-busy', 'true');
      break;
    case 'close':
      if (!('touched' in el.dataset)) el.open = false;
      break;
  }
};

// Apply the frame of an html, reset or done event, or of the answer to a form.
export const apply = (frame) => {
  for (const s of frame.swap ?? []) swap(s);
  if (frame.title) {
    const app = document.title.split(' · ').pop();
    document.title = frame.title + ' · ' + app;
  }
  say(frame.say);
  if (frame.file) document.dispatchEvent(new CustomEvent('fawn:file', {detail: frame.file}));
};

// Apply a Markdown patch: [depth, drop, html, text] steps along the last children.
export const patch = (root, ops) => {
  for (const [depth, drop, html, text] of ops) {
    if (depth < 0) { root.childNodes[-1 - depth]?.replaceWith(parse(html)); continue; }
    let n = root;
    for (let i = 0; i < depth; i++) n = n.lastChild;
    for (let i = 0; i < drop; i++) n.lastChild.remove();
    if (text) n.lastChild.appendData(text);
    if (html) n.insertAdjacentHTML('beforeend', html);
  }
};
