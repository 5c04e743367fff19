// Clocks, folds, sheets, dialogs and settings.
import {$, apply, fade, later, on, toast, word} from './dom.js';
import {at} from './at.js';
import {post} from './compose.js';
import {copy} from './copy.js';

const clocks = () => {
  for (const t of document.querySelectorAll('time.tick')) {
    const {since, until} = t.dataset, n = Math.max(0, until ? Math.ceil((until - Date.now()) / 1000) : Math.floor((Date.now() - since) / 1000));
    const s = until ? (n ? t.dataset.in.replace('%d', n) : t.dataset.now) : Math.floor(n / 60) + ':' + String(n % 60).padStart(2, '0');
    if (t.textContent !== s) t.textContent = s;
  }
};

// The list says what other chats came to: while one of them works, and when the reader
// comes back to the page. A run that was set to start later shows itself by a new page.
let listed, ticks = 0;
const list = async () => {
  const chat = $('turns')?.dataset.thread ?? '';
  try {
    const headers = {'X-Fawn': '1'}, res = await fetch(at('/ui/threads?current=' + chat), {headers});
    const html = await res.text();
    if (res.ok && html !== listed) apply({swap: [{target: 'threads', how: 'outer', html: listed = html}]});
    const waits = document.querySelectorAll('#later li').length;
    if (waits && (await fetch(at(`/ui/threads/${chat}/status`), {headers}).then((r) => r.json())).later < waits) location.reload();
  } catch { /* the next time may go better */ }
};
const second = () => {
  if (document.hidden) return;
  clocks();
  // A task of the schedule may begin at any time.
  if (++ticks % 5 === 0 && (ticks % 30 === 0 && $('threads') || $('later') || document.querySelector('.tl:not([aria-current]) .running'))) list();
};

// The side bar is one element: on small screens it moves into a dialog.
let sheet;
const openSheet = () => {
  const side = $('side');
  if (!side || sheet) return;
  const home = document.createComment('');
  side.before(home);
  sheet = document.createElement('dialog');
  sheet.className = 'sheet';
  sheet.ariaLabel = side.ariaLabel;
  sheet.append(side);
  document.body.append(sheet);
  on(sheet, 'click', (e) => { if (e.target === sheet) sheet.close(); });
  on(sheet, 'close', () => { home.replaceWith(side); sheet.remove(); sheet = null; });
  sheet.showModal();
};

// It also comes in by a finger that moves from the left edge.
const swipe = (e) => {
  const {clientX: x, clientY: y, identifier: id} = e.changedTouches[0];
  if (x > 24 || sheet || e.touches.length > 1 || !document.querySelector('.menu-btn')?.checkVisibility()) return;
  const move = (m) => {
    const t = [...m.changedTouches].find((t) => t.identifier === id);
    if (!t || Math.abs(t.clientY - y) > 40) off();
    else if (t.clientX - x > 60) { off(); openSheet(); }
  };
  const ends = ['touchend', 'touchcancel'];
  const off = () => { document.removeEventListener('touchmove', move); for (const end of ends) document.removeEventListener(end, off); };
  on(document, 'touchmove', move, {passive: true});
  for (const end of ends) on(document, end, off);
};

// The lines between the columns can be moved.
const grip = async (e) => {
  const el = e.target.closest?.('.grip:not([data-on])');
  if (!el) return;
  el.dataset.on = '';
  try { (await later('grip')).start(el, savePref); } catch { delete el.dataset.on; }
};

// Settings open over the page where there is room; what was changed in them shows below.
let changed, opener;
const openModal = async (a) => {
  const d = $('modal'), menu = a.closest('[popover]');
  opener = menu ? document.querySelector(`[popovertarget="${menu.id}"], #${menu.dataset.by}`) : a;
  d.classList.toggle('wide', !a.dataset.modal);
  await window.htmx.ajax('GET', a.href, {target: '#modal', swap: 'innerHTML'});
  const sheet = d.querySelector('link');
  if (sheet && !document.head.querySelector(`[href="${sheet.getAttribute('href')}"]`)) {
    await new Promise((done) => { sheet.onload = sheet.onerror = done; document.head.append(sheet); }); // not seen unstyled
  }
  d.ariaLabel = d.querySelector('h2').textContent;
  if (!d.open && d.firstElementChild) d.showModal();
};

const click = (e) => {
  const t = e.target;
  const m = t.closest('a[data-modal]');
  if (m && !e.ctrlKey && !e.metaKey && !e.shiftKey && matchMedia('(min-width:761px)').matches) { e.preventDefault(); sheet?.close(); openModal(m); return; }
  const c = t.closest('[data-copy]');
  if (c && !e.ctrlKey && !e.metaKey) { e.preventDefault(); copy(c); return; }
  const fill = t.closest('[data-fill]');
  if (fill) { e.preventDefault(); $(fill.dataset.fill).value = fill.value; $(fill.dataset.fill).focus(); return; }
  const row = t.closest('[data-row]');
  if (row && !e.ctrlKey && !e.metaKey && !e.shiftKey) {
    e.preventDefault();
    later(row.dataset.row).then((m) => m.open(row, apply)).catch(() => { location.href = row.href; });
    return;
  }
  const sh = t.closest('[data-sheet]');
  if (sh) {
    e.preventDefault();
    if (sh.dataset.sheet === 'open') openSheet();
    else sheet?.close();
    return;
  }
  const d = t.closest('[data-dialog]');
  if (d && !e.ctrlKey && !e.metaKey) {
    e.preventDefault();
    t.closest('[popover]')?.hidePopover();
    $(d.dataset.dialog).showModal();
    return;
  }
  if (t.closest('.acts .menu a, .acts .menu [data-act=branch]')) t.closest('.menu').hidePopover();
  if (t.closest('[data-close]')) (t.closest('dialog')?.close(), t.closest('.toast')?.remove());
  if (t.tagName === 'DIALOG') t.close();
  const s = t.closest('summary');
  if (s) s.parentElement.dataset.touched = '';
};

export const savePref = (body) => post(at('/ui/prefs'), new URLSearchParams(body));

const change = async (e) => {
  const t = e.target;
  if ('go' in t.dataset) t.form.requestSubmit();
  if (t.dataset.all) for (const c of document.getElementsByName(t.dataset.all)) c.checked = t.checked;
  const form = t.closest('form[data-prefs]');
  try {
    if (form) {
      const root = document.documentElement;
      if (/theme|size/.test(t.name)) root.dataset[t.name] = t.value;
      await savePref({[t.name]: t.type === 'checkbox' && !t.checked ? 'off' : t.value});
      if (t.name === 'keys') root.toggleAttribute('data-nokeys', t.value === 'off');
      if (t.name === 'lang') location.reload();
      else $('saved').textContent = '✓';
    } else if (t.dataset.pref) {
      await savePref({[t.dataset.pref]: t.value});
    }
  } catch {
    toast(word('live-senderror'));
  }
};

// The address says what is searched for, so that it can be reloaded and shared.
const searched = () => {
  const q = document.querySelector('[role=search] [name=q]');
  if (q) history.replaceState(null, '', q.value ? '?q=' + encodeURIComponent(q.value) : location.pathname);
};

// Apps of MCP servers speak once this script listens: their frames are empty until then. The load of an empty frame
// says that it is there.
const wake = () => { for (const f of document.querySelectorAll('[data-app]')) f.src ||= f.dataset.app; };

export const start = () => {
  on(window, 'message', (e) => { if (e.data?.jsonrpc) later('apps').then((m) => m.take(e)); });
  on(document, 'load', wake, true);
  wake();
  on(document, 'click', click);
  on(document, 'change', change);
  on(document, 'htmx:after:swap', searched);
  on(document, 'touchstart', swipe, {passive: true});
  on(document, 'pointerover', grip);
  on(document, 'focusin', grip);
  on($('modal'), 'submit', (e) => { changed ||= !e.target.matches('[data-prefs], [data-stay]'); });
  on($('modal'), 'close', () => {
    if (changed) location.reload();
    const share = document.querySelector('[data-share]')?.content.firstElementChild;
    if (share) $('share-btn')?.replaceWith(share);
    if (document.activeElement === document.body || $('modal').contains(document.activeElement)) ($(opener?.id) ?? opener ?? $('main')).focus();
  });
  for (const z of document.querySelectorAll('[data-zone]')) {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC', was = z.value;
    const all = new Set([own, ...[...z.options].map((o) => o.value), ...Intl.supportedValuesOf('timeZone')]);
    z.replaceChildren(...[...all].map((n) => new Option(n)));
    z.value = was === 'UTC' && !z.dataset.zone ? own : was; // a task that is edited keeps its own
  }
  for (const t of document.querySelectorAll('.toast')) fade(t, 8);
  if (document.querySelector('[data-print]')) document.fonts.ready.then(() => print());
  if ($('threads')) on(document, 'visibilitychange', () => document.hidden || list());
  setInterval(second, 1000);
};
