// The list of commands that opens with a slash in the message box. The server
// renders it; here it filters, moves and picks.
import {at} from './at.js';

let list, box, away = false, at0 = 0;

const opens = (c) => c === '/' || c === '@';
const shown = () => [...list.querySelectorAll('[role=option]:not([hidden])')];
const current = () => list.querySelector('[aria-selected=true]');

const select = (el) => {
  current()?.removeAttribute('aria-selected');
  el.setAttribute('aria-selected', 'true');
  el.scrollIntoView({block: 'nearest'});
  box.setAttribute('aria-activedescendant', el.id);
};

const close = () => {
  if (!list.matches(':popover-open')) return;
  list.hidePopover();
  box.removeAttribute('aria-activedescendant');
  box.removeAttribute('aria-controls');
};

const filter = () => {
  const typed = box.value;
  if (!opens(typed[0])) away = false;
  for (const o of list.querySelectorAll('[role=option]')) o.hidden = !o.dataset.text.startsWith(typed) || o.dataset.text === typed;
  const found = shown();
  if (away || !opens(typed[0]) || !found.length || document.activeElement !== box) { close(); return; }
  if (!list.matches(':popover-open')) {
    list.showPopover();
    box.setAttribute('aria-controls', list.id);
    document.getElementById('say').textContent = list.getAttribute('aria-label');
  }
  select(found[0]);
};

const field = () => document.getElementById('q');
const headers = {'X-Fawn': '1', Accept: 'application/json'};
const ask = async (url, body) => {
  const res = await fetch(url, {method: 'POST', body, headers});
  const said = await res.json().catch(() => ({}));
  if (!res.ok) throw new Error(said.error || list?.dataset.problem || res.statusText);
  return said;
};

// put takes over a prompt or files from a server. What was typed meanwhile stays.
const put = ({text, chip}) => {
  const chips = document.getElementById('chips'), t = document.createElement('template');
  t.innerHTML = chip ?? '';
  for (const li of t.content.children) [...chips.children].find((old) => old.dataset.name === li.dataset.name)?.remove();
  chips.append(t.content);
  const q = field();
  if (text) q.value = q.value.trim() ? q.value + '\n' + text : text;
  away = true;
  q.dispatchEvent(new Event('input'));
  document.dispatchEvent(new Event('fawn:frame')); // documents among the files are followed
  q.focus();
};

// Prompts that want to be told something have a form; what else a server has is fetched at once.
const fetched = async (el) => {
  box.value = '';
  box.dispatchEvent(new Event('input'));
  const link = el.querySelector('a');
  if (link) { link.click(); return; }
  const {post, text, ...body} = el.dataset;
  box.form.setAttribute('aria-busy', 'true');
  try { put(await ask(post, new URLSearchParams(body))); } catch (err) {
    const p = document.getElementById('problem');
    p.textContent = err.message;
    p.hidden = false;
  }
  box.form.removeAttribute('aria-busy');
};

// The form of a prompt and the list of resources stand in the dialog.
const submit = async (e) => {
  const form = e.target;
  if (!form.matches('[data-prompt]')) return;
  e.preventDefault();
  e.submitter.disabled = true;
  try {
    put(await ask(form.action, new URLSearchParams(new FormData(form))));
    form.closest('dialog').close();
    field().focus();
  } catch (err) {
    const p = form.closest('dialog').querySelector('.why');
    p.textContent = err.message;
    p.hidden = false;
    e.submitter.disabled = false;
  }
};

document.addEventListener('submit', submit);
// Enter in a field of a prompt inserts it, as it sends in the message box.
document.addEventListener('keydown', (e) => {
  if (e.key !== 'Enter' || e.shiftKey || e.isComposing || !e.target.matches('[data-prompt] textarea')) return;
  e.preventDefault();
  e.target.form.requestSubmit(e.target.form.querySelector('button'));
});

// use opens the form of a prompt over the page.
export const use = (href) => {
  const a = Object.assign(document.createElement('a'), {href, hidden: true});
  a.dataset.modal = 'small';
  field().after(a);
  a.click();
  a.remove();
};

const pick = (el) => {
  if (el.dataset.post) { fetched(el); return; }
  box.value = el.dataset.text;
  box.setSelectionRange(box.value.length, box.value.length);
  box.dispatchEvent(new Event('input'));
};

// Before the box itself hears of them, which would send, stop or leave.
const keydown = (e) => {
  if (e.isComposing || e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || !list.matches(':popover-open')) return;
  const all = shown(), at = all.indexOf(current());
  const to = {ArrowDown: at + 1, ArrowUp: at - 1 + all.length}[e.key];
  if (to !== undefined) select(all[to % all.length]);
  else if (e.key === 'Enter' || e.key === 'Tab') pick(all[at]);
  else if (e.key === 'Escape') { away = true; close(); }
  else return;
  e.preventDefault();
  e.stopImmediatePropagation();
};

// open loads the list and shows what fits the words in the box.
export const open = async (field) => {
  if (list?.isConnected && (field.value.length > 1 || Date.now() - at0 < 5000)) return;
  const was = list, form = field.form;
  const res = await fetch(at(`/ui/commands?thread=${form.dataset.thread}${form.hasAttribute('data-new') ? '&new=1' : ''}`), {headers: {'X-Fawn': '1'}});
  if (!res.ok) throw new Error(res.status);
  const html = await res.text();
  if (list !== was) return;
  const t = document.createElement('template');
  t.innerHTML = html;
  was?.remove();
  list = t.content.firstElementChild;
  at0 = Date.now();
  field.after(list);
  if (box !== field) {
    box = field;
    box.setAttribute('aria-autocomplete', 'list');
    box.addEventListener('keydown', keydown, true);
    box.addEventListener('input', filter);
    box.addEventListener('blur', close);
  }
  list.addEventListener('pointerdown', (e) => e.preventDefault()); // the box keeps the focus
  list.addEventListener('click', (e) => {
    const o = e.target.closest('[role=option]');
    if (o && !e.target.closest('a')) pick(o);
  });
  const sheet = list.querySelector('link');
  if (was) sheet.remove();
  else await new Promise((done) => { sheet.onload = sheet.onerror = done; document.head.append(sheet); }); // not seen unstyled
  filter();
};
