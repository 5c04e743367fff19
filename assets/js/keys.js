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

// The turn before or after the one at the top of what is visible.
const turn = (step) => {
  const sc = $('scroll');
  if (!sc) return;
  const top = sc.getBoundingClientRect().top + 8;
  const all = [...document.querySelectorAll('article.turn')];
  const at = all.findLastIndex((t) => t.getBoundingClientRect().top <= top);
  const to = all[Math.max(0, Math.min(all.length - 1, at + step))];
  if (!to) return;
  to.tabIndex = -1;
  to.focus({preventScroll: true});
  sc.dispatchEvent(new KeyboardEvent('keydown', {key: 'PageUp'})); // follow no longer
  to.scrollIntoView();
};

const commands = {
  palette: () => palette(),
  keys: () => palette(true),
  side,
  files: () => (panel.isOpen() ? panel.close() : $('files-button')?.click()),
  write: () => $('q')?.focus(),
  next: () => turn(1),
  prev: () => turn(-1),
  copy: () => click('.turn.last .acts [data-copy=source]'),
  edit: () => click('[data-act=edit]'),
  regenerate: () => click('.turn.last [data-act=regenerate]'),
  trail: () => click('.turn.last .trail > summary'),
  new: () => { location.href = at('/workspace/chats/new'); },
  settings: () => { location.href = at('/workspace/settings/appearance'); },
};
const act = (name) => commands[name]();

const withMod = {k: 'palette', '/': 'keys', b: 'side', '.': 'files', ',': 'settings'};
const single = {'/': 'write', j: 'next', k: 'prev', c: 'copy', e: 'edit', r: 'regenerate', t: 'trail', f: 'files'};

const keydown = (e) => {
  if (e.defaultPrevented || e.isComposing) return;
  if (e.altKey) {
    // By place, as Alt writes other signs on some keyboards.
    const b = /^Digit[1-3]$/.test(e.code) && !document.querySelector('dialog[open]') && document.querySelectorAll('[data-next]')[e.code[5] - 1];
    if (b) { e.preventDefault(); b.click(); }
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

export const start = () => {
  on(document, 'keydown', keydown);
  on(document, 'focusin', (e) => { if (e.target.closest?.('.tlr')) later('rowmenu').catch(() => {}); }); // its arrow keys
};
