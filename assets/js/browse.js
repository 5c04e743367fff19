// The agent's browser in the panel: its pictures while the panel shows them, and what a person
// who has taken it over does there. Gestures are sent one after the other.
const named = ['Enter', 'Backspace', 'Delete', 'Escape', 'ArrowLeft', 'ArrowUp', 'ArrowRight', 'ArrowDown', 'Home', 'End', 'PageUp', 'PageDown'];

export const start = (root, toast) => {
  const box = root.querySelector('[data-browse]'), screen = box.querySelector('.screen'), img = screen.querySelector('img');
  const address = box.querySelector('[data-gesture=open] input');
  const held = () => 'held' in box.dataset;
  const hold = (on) => {
    box.toggleAttribute('data-held', on);
    address.readOnly = !on;
  };
  hold(held());

  let told = 0; // how often the stream has told who holds the browser
  const live = new EventSource(box.dataset.browse);
  const gone = () => { if (!box.isConnected) live.close(); return !box.isConnected; };
  live.addEventListener('frame', (e) => {
    if (gone()) return;
    const f = JSON.parse(e.data);
    if (f.jpeg) img.src = 'data:image/jpeg;base64,' + f.jpeg;
    if (document.activeElement !== address) address.value = f.address;
    box.toggleAttribute('data-busy', f.busy);
    told++;
    hold(f.held);
  });
  const over = () => {
    live.close();
    if (!box.isConnected) return;
    const p = document.createElement('p');
    p.className = 'browse-none';
    p.textContent = box.dataset.over;
    box.replaceWith(p);
  };
  live.addEventListener('over', over);
  live.addEventListener('error', () => { if (!gone() && live.readyState === EventSource.CLOSED) over(); });
  new MutationObserver((_, o) => { if (gone()) o.disconnect(); }).observe(root, {childList: true});

  let last = Promise.resolve();
  const post = async (url, values) => {
    const res = await fetch(url, {method: 'POST', headers: {'X-Fawn': '1'}, body: new URLSearchParams(values)});
    if (res.ok || res.status === 409) return;
    const text = await res.text();
    let why = text;
    try { why = JSON.parse(text).detail ?? text; } catch { /* it is plain */ }
    toast(why.length < 300 && !why.includes('<') ? why : String(res.status));
  };
  const send = (values) => { last = last.then(() => post(box.dataset.do, values)).catch(() => {}); };

  const place = (e) => {
    const r = img.getBoundingClientRect(), k = screen.dataset.width / (r.width || 1);
    return {x: ((e.clientX - r.left) * k).toFixed(1), y: ((e.clientY - r.top) * k).toFixed(1)};
  };
  img.addEventListener('click', (e) => {
    screen.focus({preventScroll: true});
    if (held()) send({kind: 'click', ...place(e)});
  });
  let wheel = 0;
  screen.addEventListener('wheel', (e) => {
    if (!held() || e.ctrlKey) return;
    e.preventDefault();
    if (!wheel) setTimeout(() => { send({kind: 'wheel', ...place(e), dy: wheel}); wheel = 0; }, 80);
    wheel += e.deltaY;
  }, {passive: false});

  // Letters that come quickly are sent together.
  let typed = '';
  const type = (text) => {
    if (!typed) setTimeout(() => { send({kind: 'text', text: typed}); typed = ''; }, 60);
    typed += text;
  };
  const flush = (values) => {
    if (typed) { const text = typed; typed = ''; send({kind: 'text', text}); }
    send(values);
  };
  screen.addEventListener('keydown', (e) => {
    if (!held() || e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
    if (named.includes(e.key)) flush({kind: 'key', text: e.key});
    else if ([...e.key].length === 1) type(e.key);
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
  screen.addEventListener('paste', (e) => {
    const text = e.clipboardData.getData('text/plain');
    if (!held() || !text) return;
    e.preventDefault();
    flush({kind: 'text', text});
  });

  box.addEventListener('click', (e) => {
    const key = e.target.closest('[data-key]')?.dataset.key;
    if (key && held()) flush(key === 'back' ? {kind: 'back'} : {kind: 'key', text: key});
  });
  box.addEventListener('submit', async (e) => {
    e.preventDefault();
    const f = e.target;
    if ('hand' in f.dataset) {
      const taking = f.matches('.theirs'), before = told;
      try { await post(f.action, {}); } catch { return; }
      if (told === before) hold(taking); // else the stream knows better
      (taking ? screen : box.querySelector('.theirs button')).focus({preventScroll: true});
      return;
    }
    const input = f.elements.text;
    if (!held() || !input.value) return;
    flush({kind: f.dataset.gesture, text: input.value});
    if (f.dataset.gesture === 'text') input.value = '';
    else screen.focus({preventScroll: true});
  });
};
