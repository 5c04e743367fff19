// The dialog that finds chats and commands, and the one that lists the keys. The
// server renders both; here are the arrows, the search and the closing.
import {at} from './at.js';

let dialog, timer, picked, asked = 0;

const load = async (query) => {
  const chat = document.getElementById('turns') ? '&chat=1' : '';
  const res = await fetch(at('/ui/palette?' + query + chat), {headers: {'X-Fawn': '1'}});
  if (!res.ok) throw new Error(res.status);
  return res.text();
};

// Commands that press what the page has for them, or change a choice of the reader.
const press = {
  stop: '#send [data-stop]', model: '[popovertarget=models]', compare: '.cmpmodels summary', rename: '[popovertarget=thread-menu]',
  project: '#thread-menu [href$="/project"]', pin: '#thread-menu [name=pinned][value=true]', unpin: '#thread-menu [name=pinned][value=false]',
  keep: '#temporary button', archive: '#thread-menu [name=archived][value=true]', unarchive: '#thread-menu [name=archived][value=false]',
  tags: '#thread-menu [href$="/tags"]', share: '#share-btn', usage: '#thread-menu [href$="/usage"]', restart: '#thread-menu [action$="/sandbox"] button', delete: '#thread-menu [data-dialog]',
  mode: '[popovertarget=modes]', attach: '#pick', tools: '#tools-btn button, #tools-btn a', memory: '#thread-menu [href$="/memory"]',
  branch: '.turn.last [data-act=branch]', inspect: '.turn.last [data-act=inspect]', raw: '.turn.last [data-act=raw]',
  good: '.turn.last [data-act=thumbs-up]', bad: '.turn.last [data-act=thumbs-down]', zip: '#files-button .count', 'export-pdf': '#thread-menu [href$="export.pdf"]',
  'export-md': '#thread-menu [href$="export.md"]', 'export-json': '#thread-menu [href$="export.json"]',
};
const choice = async (name, value) => {
  const res = await fetch(at('/ui/prefs'), {method: 'POST', body: new URLSearchParams({[name]: value}), headers: {'X-Fawn': '1', Accept: 'application/json'}});
  if (!res.ok) throw new Error(res.status);
  if (name === 'lang') location.reload();
  else document.documentElement.dataset[name] = value;
};
const perform = (name, act) => {
  const set = /^(theme|lang)-(.+)/.exec(name);
  if (set) { choice(set[1], set[2]).catch(() => {}); return; }
  if (!press[name]) { act(name); return; }
  if (name === 'zip') { location.href = at(`/ui/threads/${document.getElementById('turns').dataset.thread}/files.zip`); return; }
  if (name === 'compare') document.querySelector(press.model).click();
  document.querySelector(press[name])?.click();
  if (name === 'rename') document.querySelector('#thread-menu [name=title]').select();
};

// Only what the page has can be done on it.
const prune = (el) => {
  for (const o of el.querySelectorAll('[data-do]')) if (press[o.dataset.do] && !document.querySelector(press[o.dataset.do])) o.remove();
};

const options = () => [...dialog.querySelectorAll('[role=option]')];
const current = () => dialog.querySelector('[aria-selected=true]');

const select = (el) => {
  current()?.removeAttribute('aria-selected');
  const q = dialog.querySelector('input');
  q.removeAttribute('aria-activedescendant');
  if (!el) return;
  el.setAttribute('aria-selected', 'true');
  el.scrollIntoView({block: 'nearest'});
  q.setAttribute('aria-activedescendant', el.id);
};

const search = (q) => {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    const mine = ++asked;
    try {
      const html = await load('q=' + encodeURIComponent(q));
      if (mine !== asked || !dialog?.open) return; // a later one is on its way
      dialog.querySelector('#pal-list').outerHTML = html;
      prune(dialog);
      select(options()[0]);
    } catch { /* what was there stays */ }
  }, 120);
};

// A prompt goes into the message box of the page; elsewhere its link leads to a new chat.
const usePrompt = async (id) => {
  dialog.close();
  const slash = await import(import.meta.url.replace(/palette(?=\.js)/, 'slash'));
  slash.use(at(`/ui/threads/${document.getElementById('compose').dataset.thread}/saved-prompt?prompt=${id}`));
};

const choose = (el, act) => {
  const name = el.dataset.do;
  if (el.dataset.prompt && document.getElementById('compose')) { usePrompt(el.dataset.prompt).catch(() => { location.href = el.href; }); return; }
  if (!name) { location.href = el.href; return; }
  dialog.close();
  if (name === 'ask' && picked) { getSelection().removeAllRanges(); getSelection().addRange(picked); } // the search box took its place
  perform(name, act);
};

const keydown = (e, act) => {
  const list = options(), at = list.indexOf(current());
  const to = {ArrowDown: at + 1, ArrowUp: at - 1}[e.key];
  if (to !== undefined && list.length) {
    e.preventDefault();
    select(list[(to + list.length) % list.length]);
  } else if (e.key === 'Enter' && at >= 0 && !e.isComposing) {
    e.preventDefault();
    if ((e.ctrlKey || e.metaKey) && !list[at].dataset.do) window.open(list[at].href);
    else choose(list[at], act);
  } else if (e.key === 'Escape' && !e.isComposing) { // which would only empty the field at first
    e.preventDefault();
    dialog.close();
  }
};

// open shows the palette, or with keys the list of shortcuts; act carries out a
// command by its name. Asked for again, the palette closes.
export const open = async (keys, act) => {
  if (dialog?.open) { dialog.close(); return; }
  const s = getSelection();
  picked = s.rangeCount && !s.isCollapsed ? s.getRangeAt(0).cloneRange() : null;
  const html = await load(keys ? 'keys=1' : '');
  if (dialog?.open) return;
  const el = dialog = document.createElement('dialog');
  el.className = 'dialog pal';
  el.innerHTML = html;
  el.setAttribute('aria-label', el.querySelector('h2').textContent);
  if (/Mac|iP/.test(navigator.platform)) for (const k of el.querySelectorAll('kbd')) if (k.textContent === 'Ctrl') k.textContent = '⌘';
  document.body.append(el);
  el.addEventListener('close', () => el.remove());
  el.addEventListener('click', (e) => {
    const option = e.target.closest('[role=option]');
    if (e.target === el) el.close();
    else if (option?.dataset.do || option?.dataset.prompt) { e.preventDefault(); choose(option, act); }
  });
  el.showModal();
  const q = el.querySelector('input');
  if (!q) return;
  q.focus();
  select(options()[0]);
  q.addEventListener('input', () => search(q.value));
  q.addEventListener('keydown', (e) => keydown(e, act));
};
