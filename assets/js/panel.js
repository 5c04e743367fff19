// The file panel: links with data-panel load their fragment into it, and the
// address remembers it, so that Back closes it.
import {$, later, on, toast, word} from './dom.js';
import {glide} from './scroll.js';

let opener;

// The style sheet of the panel comes with it and stays in the head.
const styled = (link) => {
  if (!link) return;
  link.remove();
  if (document.head.querySelector(`link[href="${link.getAttribute('href')}"]`)) return;
  return new Promise((done) => {
    link.onload = link.onerror = done;
    document.head.append(link);
  });
};

// A document opens at the page that a citation names. Some previews have gestures of their own.
const turn = (root) => {
  const at = root.querySelector('div[data-at]')?.dataset.at;
  if (at) $('at-' + at)?.scrollIntoView();
  if (root.querySelector('[data-tabs], [data-either], [data-zoom], [data-wait]')) later('preview').then((m) => m.start(root, root.id === 'panel' && put), () => {});
};

// A text in a form is looked after by a script of its own.
const edited = () => {
  const form = document.querySelector('[data-edit]');
  if (form) later('edit').then((e) => e.start(form, $('panel') && put, toast)).catch(() => {}); // it is a form all the same
};

const put = async (html) => {
  const p = $('panel'), t = document.createElement('template');
  t.innerHTML = html;
  await styled(t.content.querySelector('link'));
  p.replaceChildren(t.content);
  if (p.hidden) await glide(() => { p.hidden = false; });
  turn(p);
  edited();
  window.htmx?.process(p);
  if (p.querySelector('[data-browse]')) later('browse').then((m) => m.start(p, toast), () => {});
  if (p.querySelector('[data-again]')) later('trail').then((m) => m.follow(p), () => {});
};

// What was asked for last is shown, in whatever order the answers come.
let asked = 0, loading = 0;
const load = async (url) => {
  const mine = ++asked;
  loading++;
  try {
    const res = await fetch(url, {headers: {'X-Fawn': '1'}});
    const html = await res.text();
    if (mine !== asked) return false;
    if (!res.ok && !html) throw new Error(res.status);
    await put(html);
    return mine === asked;
  } catch {
    if (mine === asked) toast(word('live-loaderror'));
    return false;
  } finally {
    loading--;
  }
};

const hide = () => {
  asked++;
  const p = $('panel');
  if (!p || p.hidden) return;
  glide(() => { p.hidden = true; });
  p.replaceChildren();
  const back = opener?.isConnected ? opener : $('files-button');
  opener = null;
  (back ?? $('q'))?.focus({preventScroll: true});
};

export const close = () => {
  if (history.state?.panel) history.back();
  else { history.replaceState(null, '', $('panel').dataset.closed); hide(); }
};

export const isOpen = () => $('panel') && !$('panel').hidden;

const click = async (e) => {
  if (e.defaultPrevented || e.button || e.ctrlKey || e.metaKey || e.shiftKey) return;
  const p = $('panel');
  if (!p) return;
  if (e.target.closest('[data-panel-close]')) { e.preventDefault(); close(); return; }
  let a = e.target.closest('[data-panel]'), url = a?.dataset.panel, push = a?.dataset.push;
  const ref = !a && e.target.closest('a[data-file]');
  if (ref) {
    // A link to a file inside an answer.
    a = ref;
    if (!$('turns')) return;
    const {file, at} = ref.dataset;
    url = urlOf(file) + (at ? '?at=' + at : '');
    push = p.dataset.closed + '?file=' + encodeURIComponent(file) + (at ? '&at=' + at : '');
  }
  if (!a) return;
  e.preventDefault();
  const inside = p.contains(a);
  if (!inside) {
    if (a.id === 'files-button' && isOpen()) { close(); return; }
    opener = a;
    const {main} = a.id === 'files-button' ? await later('glide') : {}, first = main?.([...document.querySelectorAll('.turn')].findLast(main));
    if (first) ({panel: url, push} = first.dataset);
  }
  if (!(await load(url))) return;
  const state = {panel: url};
  if (isOpen() && history.state?.panel) history.replaceState(state, '', push ?? p.dataset.closed);
  else history.pushState(state, '', push ?? p.dataset.closed);
  const focus = inside && [...p.querySelectorAll('a')].find((x) => x.getAttribute('aria-label') === a.getAttribute('aria-label') && x.textContent === a.textContent);
  (focus || p.querySelector('[data-panel-close]'))?.focus({preventScroll: true});
};

// The turn of a run that began on this page, and the one whose file has shown itself. A run may be over before the page
// hears of it for the first time.
let fresh = '', shown = '';
const begun = () => { fresh = document.querySelector('.turn.last')?.id ?? ''; };

// The first file of a run shows itself where there is room for it, once, and
// without taking the focus.
const showFirst = async () => {
  const turn = document.querySelector('.turn.last');
  if (turn?.matches('.run')) begun();
  if (!turn || turn.id !== fresh || turn.id === shown || loading || isOpen() || !matchMedia('(min-width: 1101px)').matches) return;
  if (!turn.querySelector('.cards [data-panel]')) return;
  shown = turn.id;
  const a = (await later('glide')).main(turn);
  if (a && await load(a.dataset.panel)) history.pushState({panel: a.dataset.panel}, '', a.dataset.push);
};

// enter takes up a page that was entered with its first message.
export const enter = () => { begun(); showFirst(); };

const pathOf = (file) => file.split('/').map(encodeURIComponent).join('/');
const urlOf = (file) => $('turns').dataset.stream.replace(/\/stream$/, '/panel/' + pathOf(file));

// Parts of a growing file that come while the panel is on its way are in it, or
// the next part asks again. Only its end must not be missed.
let busy = '', over = '';
const fetched = async (path) => {
  busy = path;
  over = '';
  try {
    return await load(urlOf(path) + '?tab=code');
  } finally {
    busy = '';
    if (over === path) await load(urlOf(path));
  }
};

// A file that is being written grows in the panel. One for the reader opens it
// where there is room, as the first file of a run does; a draft of the agent's does not.
const grow = async ({detail: {path, at, text}}) => {
  const code = $('panel').querySelector('[data-growing]');
  if (at < 0) {
    if (busy === path) over = path;
    else if (code?.dataset.growing === path) await load(urlOf(path));
    return;
  }
  if (busy) return;
  if (code?.dataset.growing !== path) {
    const turn = document.querySelector('.turn.run.last');
    if (at || !turn || !path.startsWith('mnt/user-data/outputs/') || (!code && (isOpen() || turn.id === shown)) || !matchMedia('(min-width: 1101px)').matches) return;
    shown = turn.id;
    if (!(await fetched(path))) return;
    const place = [{panel: urlOf(path)}, '', $('panel').dataset.closed + '?file=' + encodeURIComponent(path)];
    if (code) history.replaceState(...place);
    else history.pushState(...place);
    return;
  }
  const more = text.slice(code.textContent.length - at);
  if (code.textContent.length < at) { await fetched(path); return; }
  const sc = code.closest('.scroll'), end = sc.scrollHeight - sc.scrollTop - sc.clientHeight < 40;
  const nums = code.closest('.src').querySelector('.nums');
  let n = nums.textContent.split('\n').length - 1;
  nums.append(more.replace(/[^\n]/g, '').replace(/\n/g, () => ++n + '\n'));
  code.append(more);
  if (end) sc.scrollTop = sc.scrollHeight;
};

export const start = () => {
  edited();
  const root = $('panel') ?? document.querySelector('.filepage');
  if (!root) return;
  turn(root);
  if (root.id !== 'panel') return;
  on(document, 'fawn:file', grow);
  on(document, 'fawn:frame', showFirst);
  on(document, 'fawn:run', begun);
  on(document, 'click', click);
  on(window, 'popstate', (e) => {
    if (e.state?.panel) load(e.state.panel);
    else hide();
  });
  on(document, 'keydown', (e) => {
    if (e.key === 'Escape' && isOpen() && $('panel').contains(document.activeElement)) close();
  });
};
