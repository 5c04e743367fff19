// The menu with the tools of MCP servers that a chat has. The server renders it; each switch is kept at
// once. Loaded when somebody opens it.
let menu, saving = Promise.resolve();

// Only what was switched is sent, so that two pages do not undo each other's.
const save = (box, apply) => {
  const form = box.form, body = new URLSearchParams({had: box.value});
  if (box.checked) body.set('on', box.value);
  const said = menu.querySelector('[role=status]');
  saving = saving.then(async () => {
    const res = await fetch(form.action, {method: 'POST', body, headers: {'X-Fawn': '1', Accept: 'application/json'}});
    if (!res.ok) throw new Error(res.status);
    apply(await res.json());
  }).catch(() => {
    box.checked = !box.checked;
    said.textContent = said.dataset.problem;
  });
};

const keydown = (e) => {
  const step = {ArrowDown: 1, ArrowUp: -1}[e.key];
  if (!step) return;
  e.preventDefault();
  const all = [...menu.querySelectorAll('input[role=switch], summary')].filter((el) => el.checkVisibility());
  all[(all.indexOf(document.activeElement) + step + all.length) % all.length]?.focus();
};

// open shows the menu that the link by leads to; asked for again, it closes. apply carries out what
// the server answers.
export const open = async (by, apply) => {
  if (menu?.matches(':popover-open')) { menu.hidePopover(); return; }
  const res = await fetch(by.href, {headers: {'X-Fawn': '1'}});
  if (!res.ok) throw new Error(res.status);
  const t = document.createElement('template');
  t.innerHTML = await res.text();
  menu?.remove();
  menu = t.content.querySelector('[popover]');
  menu.dataset.by = by.id;
  menu.addEventListener('change', (e) => save(e.target, apply));
  menu.addEventListener('submit', (e) => e.preventDefault());
  menu.addEventListener('keydown', keydown);
  menu.addEventListener('toggle', (e) => {
    const link = document.getElementById(by.id), on = e.newState === 'open';
    link?.setAttribute('aria-expanded', on);
    if (!on && !document.querySelector('dialog[open]') && (menu.contains(document.activeElement) || document.activeElement === document.body)) link?.focus({preventScroll: true});
  });
  const sheet = menu.querySelector('link');
  document.body.append(menu);
  if (!document.head.querySelector(`[href="${sheet.getAttribute('href')}"]`)) {
    await new Promise((done) => { sheet.onload = sheet.onerror = done; document.head.append(sheet); }); // not seen unstyled
  }
  menu.showPopover();
  menu.querySelector('input[role=switch]')?.focus();
};
