// The menu of a chat in the side bar: the server renders it, it stands beside its row, and a
// new title is seen at once. Loaded when somebody opens one.
let menu, dialog;

const place = (by) => {
  const at = by.getBoundingClientRect(), {offsetWidth: w, offsetHeight: h} = menu, edge = 8;
  Object.assign(menu.style, {
    positionArea: 'none', margin: 0, inset: 'auto',
    left: Math.max(edge, Math.min(at.left, innerWidth - w - edge)) + 'px',
    top: Math.max(edge, Math.min(at.bottom, innerHeight - h - edge)) + 'px',
  });
};

const rename = async (e, apply) => {
  const form = e.target;
  if (!form.action.endsWith('/rename')) return;
  e.preventDefault();
  const chat = document.getElementById('turns')?.dataset.thread ?? 'none';
  const res = await fetch(form.action + '?current=' + chat, {method: 'POST', body: new URLSearchParams(new FormData(form)),
    headers: {'X-Fawn': '1', Accept: 'application/json'}}).catch(() => {});
  if (!res?.ok) { form.submit(); return; } // the page that follows says what is wrong
  apply(await res.json());
  menu.hidePopover();
};

// open shows the menu that the link by leads to; asked for again, it closes. apply carries out
// what the server answers.
export const open = async (by, apply) => {
  if (menu?.dataset.by === by.id && menu.matches(':popover-open')) { menu.hidePopover(); return; }
  const res = await fetch(by.href, {headers: {'X-Fawn': '1'}});
  if (!res.ok) throw new Error(res.status);
  const t = document.createElement('template');
  t.innerHTML = await res.text();
  menu?.remove();
  dialog?.remove();
  menu = t.content.querySelector('[popover]');
  dialog = t.content.querySelector('dialog');
  menu.dataset.by = by.id;
  menu.addEventListener('submit', (e) => rename(e, apply));
  menu.addEventListener('toggle', (e) => {
    const link = document.getElementById(by.id);
    link?.setAttribute('aria-expanded', e.newState === 'open');
    if (e.newState === 'closed' && !document.querySelector('dialog[open]:not(.sheet)')) link?.focus({preventScroll: true});
  });
  (by.closest('dialog') ?? document.body).append(menu, dialog);
  menu.showPopover();
  place(by);
  menu.querySelector('input').select();
};

// A chat of the list is one stop for Tab: arrows lead to its menu and back, and to the chats around it.
document.addEventListener('keydown', (e) => {
  const row = e.target.closest?.('.tlr');
  if (!row || e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || e.target.closest('.menu')) return;
  const [link, button] = row.querySelectorAll('a'), rows = [...document.querySelectorAll('.tlr')];
  const next = rows[rows.indexOf(row) + {ArrowDown: 1, ArrowUp: -1}[e.key]];
  const to = {ArrowRight: button, ArrowLeft: link, ArrowDown: next?.querySelector('a'), ArrowUp: next?.querySelector('a')}[e.key];
  if (!to) return;
  e.preventDefault();
  to.focus();
});
