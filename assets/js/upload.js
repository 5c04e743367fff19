// Files go to the server as soon as they are chosen: by button, drop or paste.
import {$, icon, later, on, sheet, word} from './dom.js';

let form, list, report;
const running = new Map(); // li -> XMLHttpRequest
const discard = (url) => fetch(url, {method: 'POST', headers: {'X-Fawn': '1', Accept: 'application/json'}}).catch(() => {});

const bytes = (n) => n < 1024 ? n + ' B' : n < 1048576 ? Math.round(n / 1024) + ' KB' : (n / 1048576).toFixed(1) + ' MB';
const limit = (name) => Number(form.dataset[name]) || 0;
const good = () => [...list.children].filter((li) => !li.classList.contains('rose'));

export const pending = () => running.size > 0;

// What was taken back is not on its way any more when the message goes out.
let removing = 0, removed;
export const leaving = () => removing && removed;

export const count = () => good().length;

const leave = (gone) => {
  removing++;
  removed = Promise.all([removed, gone.then(() => removing--)]);
};

export const remove = (li) => {
  const xhr = running.get(li);
  running.delete(li);
  const url = li.querySelector('[data-remove]')?.getAttribute('formaction');
  if (xhr?.partial) xhr.abort();
  else if (xhr) leave(new Promise((done) => { xhr.gone = done; })); // the server may have stored it: its answer says under which name
  if (url && !li.classList.contains('rose')) leave(discard(url));
  const next = li.nextElementSibling ?? li.previousElementSibling;
  li.remove();
  (next?.querySelector('[data-remove]') ?? $('q')).focus({preventScroll: true});
};

const chip = (file) => {
  const li = document.createElement('li');
  li.className = 'chip';
  li.dataset.name = file.name;
  li.dataset.bytes = file.size;
  const name = document.createElement('span');
  name.className = 'nm';
  name.dir = 'auto';
  name.textContent = file.name;
  const size = document.createElement('span');
  size.className = 'meta';
  size.textContent = bytes(file.size);
  const x = document.createElement('button');
  x.className = 'btn x';
  x.dataset.remove = '';
  x.ariaLabel = word('compose-cancel', file.name);
  x.append(icon('x'));
  const bar = document.createElement('progress');
  bar.max = 1;
  bar.value = 0;
  bar.ariaLabel = file.name;
  li.append(icon('file-up'), name, size, x, bar);
  return li;
};

const fail = (li, why) => {
  li.className = 'chip rose';
  li.querySelector('progress')?.remove();
  const s = li.querySelector('.meta') ?? li.appendChild(document.createElement('span'));
  s.className = 'why';
  s.textContent = why;
};

const problemOf = (file, total, n) => {
  if (limit('maxFile') && file.size > limit('maxFile')) return word('live-toobig', file.name, bytes(limit('maxFile')));
  if (limit('maxCount') && n > limit('maxCount')) return word('live-toomany', limit('maxCount'));
  if (limit('maxTotal') && total > limit('maxTotal')) return word('live-total', bytes(limit('maxTotal')));
  return '';
};

const put = (file, li) => {
  const xhr = new XMLHttpRequest();
  running.set(li, xhr);
  const over = () => running.delete(li);
  xhr.upload.onprogress = (e) => {
    xhr.partial = e.loaded < e.total;
    if (xhr.gone && xhr.partial) xhr.abort();
    else if (e.lengthComputable) li.querySelector('progress').value = e.loaded / e.total;
  };
  xhr.onload = () => {
    over();
    let frame = {};
    try { frame = JSON.parse(xhr.responseText); } catch { /* not ours: treated as a failure below */ }
    if (xhr.gone) {
      const t = document.createElement('template');
      t.innerHTML = frame.chip ?? '';
      const url = t.content.querySelector('[data-remove]')?.getAttribute('formaction');
      (url ? discard(url) : Promise.resolve()).then(xhr.gone);
      return;
    }
    if (xhr.status >= 300 || !frame.chip) { fail(li, frame.error || word('live-uploaderror', file.name)); return; }
    const t = document.createElement('template');
    t.innerHTML = frame.chip;
    li.replaceWith(t.content);
    follow();
  };
  xhr.onerror = () => { over(); xhr.gone?.(); fail(li, word('live-uploaderror', file.name)); };
  xhr.onabort = () => { over(); xhr.gone?.(); };
  const body = new FormData();
  body.append('files', file, file.name);
  xhr.open('POST', form.dataset.uploads);
  xhr.setRequestHeader('X-Fawn', '1');
  xhr.setRequestHeader('Accept', 'application/json');
  xhr.send(body);
};

const add = (files) => {
  report();
  for (const file of files) {
    const li = chip(file);
    const total = good().reduce((n, el) => n + Number(el.dataset.bytes || 0), file.size);
    const why = problemOf(file, total, good().length + 1);
    list.append(li);
    if (why) { fail(li, why); report(why); } else put(file, li);
  }
};

// Documents are read meanwhile; their chips say how far that is.
let asking;
const follow = async () => {
  if (asking || !document.querySelector('[data-doc]')) return;
  asking = true;
  for (let all; (all = document.querySelectorAll('[data-doc]')).length;) {
    // A request that fails is made again, unless its answer will stay: signed out, or the chat is gone.
    const said = document.hidden || await fetch(form.dataset.uploads)
      .then((r) => r.redirected || [401, 403, 404].includes(r.status) ? {} : r.ok && r.json()).catch(() => {});
    if (said && said !== true) for (const el of all) {
      const s = said[el.dataset.doc];
      el.textContent = s?.text ?? '';
      if (!s?.pending) el.removeAttribute('data-doc');
    }
    await new Promise((done) => setTimeout(done, 1000));
  }
  asking = 0;
};

// Browsers call each pasted picture image.png, and a file takes the place of one with its name.
const named = (f, i) => f.name === 'image.png' ? new File([f], `image-${Date.now() + i}.png`, f) : f;

const hasFiles = (e) => e.dataTransfer?.types.includes('Files');
let drop, depth;
const showDrop = (yes) => {
  if (!yes) { drop?.remove(); drop = null; return; }
  if (drop) return;
  sheet('cards');
  drop = document.createElement('div');
  drop.className = 'drop';
  drop.textContent = word('compose-drop');
  document.body.append(drop);
};

// A text of this length or more becomes a file when it is pasted. One of the second length does so however it comes into the
// box: browsers lay out all of a box at each change, which takes seconds for each megabyte.
const pasted = 8000, most = 100000;
const file = (text) => later('paste').then((m) => m.take(list, text, add, text.length < most)).catch(() => $('q').setRangeText(text));

// bind takes up the message box of the page that is shown. What is on its way from the one
// before comes along.
export const bind = (f, problem) => {
  form = f;
  list = $('chips');
  list.append(...running.keys());
  report = problem;
  follow();
  const pick = $('pick');
  on(pick, 'change', () => { add([...pick.files]); pick.value = ''; });
  on($('q'), 'paste', (e) => {
    const files = [...(e.clipboardData?.files ?? [])].map(named), text = e.clipboardData?.getData('text/plain') ?? '';
    if (files.length) { e.preventDefault(); add(files); }
    else if (text.length >= pasted) { e.preventDefault(); file(text); }
  });
  on($('q'), 'beforeinput', (e) => { if (e.data?.length >= most) { e.preventDefault(); file(e.data); } });
  if (depth !== undefined) return;
  depth = 0;
  on(document, 'fawn:frame', follow);
  on(document, 'dragenter', (e) => { if (hasFiles(e)) { depth++; showDrop(true); } });
  on(document, 'dragleave', (e) => { if (hasFiles(e) && --depth <= 0) { depth = 0; showDrop(false); } });
  on(document, 'dragover', (e) => { if (hasFiles(e)) e.preventDefault(); });
  on(document, 'drop', (e) => {
    if (!hasFiles(e)) return;
    e.preventDefault();
    depth = 0;
    showDrop(false);
    add([...e.dataTransfer.files]);
    $('q').focus({preventScroll: true});
  });
};
