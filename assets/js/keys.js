// The keyboard map: keys with Ctrl or ⌘ work everywhere, single ones outside of
// fields and unless the reader switched them off.
import {$, later, on, toast, word} from './dom.js';
import {at} from './at.js';
import * as panel from './panel.js';
import {savePref} from './ui.js';

const click = (selector) => [...document.querySelectorAll(selector)].filter((el) => el.checkVisibility() && !el.disabled).pop()?.click();

const palette = async (keys) => {
  try {
    (await later('palette')).open(keys, act);
  } catch {
    toast(word('live-loaderror'));
  }
};

const side = () => {
  if (!matchMedia('(min-width: 761px)').matches) { click('.menu-btn'); return; }
  const app = document.querySelector('.app');
  const off = app.classList.toggle('noside');
  if (off && $('side').contains(document.activeElement)) ($('q') ?? $('main')).focus();
  savePref({side: off ? 'off' : 'on'}).catch(() => {});
};

const commands = {
  palette: () => palette(),
  keys: () => palette(true),
  side,
  files: () => (panel.isOpen() ? panel.close() : $('files-button')?.click()),
  write: () => $('q')?.focus(),
  copy: () => click('.turn.last .acts [data-copy=source]'),
  edit: () => click('[data-act=edit]'),
  regenerate: () => click('.turn.last [data-act=regenerate]'),
  trail: () => click('.turn.last .trail > summary'),
  new: () => { location.href = at('/workspace/chats/new'); },
  settings: () => { location.href = at('/workspace/settings/appearance'); },
};
// What moves about in the chat comes when it is asked for.
const act = (name) => (commands[name] ? commands[name]() : later('jump').then((m) => m[name]()));

const withMod = {k: 'palette', '/': 'keys', b: 'side', '.': 'files', ',': 'settings'};
const single = {'/': 'write', j: 'next', k: 'prev', c: 'copy', e: 'edit', r: 'regenerate', t: 'trail', f: 'files', a: 'ask', g: 'first'};

const keydown = (e) => {
  if (e.defaultPrevented || e.isComposing) return;
  if (e.altKey) {
    // By place, as Alt writes other signs on some keyboards.
    const b = /^Digit[1-3]$/.test(e.code) && !document.querySelector('dialog[open]') && document.querySelectorAll('[data-next]')[e.code[5] - 1];
    if (b) { e.preventDefault(); b.click(); }
    const to = {ArrowUp: 'before', ArrowDown: 'after'}[e.key];
    if (to && !e.target.value && !document.querySelector('dialog[open]')) { e.preventDefault(); act(to); }
    return;
  }
  const key = e.key.toLowerCase(), mod = e.ctrlKey || e.metaKey;
  let name;
  if (mod) name = e.shiftKey ? (key === 'o' ? 'new' : '') : withMod[key];
  else if (!e.shiftKey && !('nokeys' in document.documentElement.dataset) && !e.target.closest('input, textarea, select, [contenteditable]')) name = single[key];
  if (!name || (document.querySelector('dialog[open]') && name !== 'palette')) return;
  e.preventDefault();
  act(name);
};

// The palette also opens from the side bar, which says by which keys.
const find = (e) => {
  if (!e.target.closest?.('[data-palette]') || e.ctrlKey || e.metaKey || e.shiftKey) return;
  e.preventDefault();
  document.querySelector('dialog.sheet')?.close();
  palette();
};
const mac = () => {
  if (/Mac|iP/.test(navigator.platform)) document.querySelector('[data-palette] kbd')?.replaceChildren('⌘');
};

export const start = () => {
  mac();
  on(document, 'fawn:page', mac);
  on(document, 'click', find);
  on(document, 'keydown', keydown);
  on(document, 'focusin', (e) => { if (e.target.closest?.('.tlr')) later('rowmenu').catch(() => {}); }); // its arrow keys
};
