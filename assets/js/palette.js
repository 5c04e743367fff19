// The dialog that finds chats and commands, and the one that lists the keys. The
// server renders both; here are the arrows, the search and the closing.
let dialog, timer, asked = 0;

const load = async (query) => {
  const chat = document.getElementById('turns') ? '&chat=1' : '';
  const res = await fetch('/ui/palette?' + query + chat, {headers: {'X-Fawn': '1'}});
  if (!res.ok) throw new Error(res.status);
  return res.text();
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
      select(options()[0]);
    } catch { /* what was there stays */ }
  }, 120);
};

const choose = (el, act) => {
  const name = el.dataset.do;
  if (!name) { location.href = el.href; return; }
  dialog.close();
  act(name);
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
  }
};

// open shows the palette, or with keys the list of shortcuts; act carries out a
// command by its name. Asked for again, the palette closes.
export const open = async (keys, act) => {
  if (dialog?.open) { dialog.close(); return; }
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
    else if (option?.dataset.do) { e.preventDefault(); choose(option, act); }
  });
  el.showModal();
  const q = el.querySelector('input');
  if (!q) return;
  q.focus();
  select(options()[0]);
  q.addEventListener('input', () => search(q.value));
  q.addEventListener('keydown', (e) => keydown(e, act));
};
