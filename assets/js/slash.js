// The list of commands that opens with a slash in the message box. The server
// renders it; here it filters, moves and picks.
import {at} from './at.js';

let list, box, away = false;

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

const pick = (el) => {
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
  if (list?.isConnected) return;
  const res = await fetch(at('/ui/commands' + (field.form.hasAttribute('data-new') ? '?new=1' : '')), {headers: {'X-Fawn': '1'}});
  if (!res.ok) throw new Error(res.status);
  const html = await res.text();
  if (list?.isConnected) return;
  const t = document.createElement('template');
  t.innerHTML = html;
  list = t.content.firstElementChild;
  box = field;
  box.after(list);
  box.setAttribute('aria-autocomplete', 'list');
  box.addEventListener('keydown', keydown, true);
  box.addEventListener('input', filter);
  box.addEventListener('blur', close);
  list.addEventListener('pointerdown', (e) => e.preventDefault()); // the box keeps the focus
  list.addEventListener('click', (e) => {
    const o = e.target.closest('[role=option]');
    if (o) pick(o);
  });
  const sheet = list.querySelector('link');
  await new Promise((done) => { sheet.onload = sheet.onerror = done; document.head.append(sheet); }); // not seen unstyled
  filter();
};
