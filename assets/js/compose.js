// The message box: drafts, keys, sending, stopping. Sending works by form
// anyway; here it happens in place.
import {$, apply, later, on, say, toast, word} from './dom.js';
import {following, listen} from './live.js';
import {toEnd} from './scroll.js';
import * as upload from './upload.js';

let form, box, sending = false, again, painted; // again: Enter came while the message before was on its way

const key = () => 'draft:' + (form.hasAttribute('data-new') ? 'new' : form.dataset.thread);
const keep = (text = box.value) => {
  try {
    if (text && !('temporary' in form.dataset)) sessionStorage.setItem(key(), text);
    else sessionStorage.removeItem(key());
  } catch { /* storage is full or forbidden: the text is still in the box */ }
};

const problem = (text) => {
  const p = $('problem');
  if (!p) return;
  p.textContent = text ?? '';
  p.hidden = !text;
};

// Browsers without field-sizing get their height from here.
const fit = () => {
  if (CSS.supports('field-sizing', 'content')) return;
  box.rows = Math.min(14, Math.max(1, box.value.split('\n').length, Math.ceil(box.value.length / 90)));
};

const placeholder = /\[(topic|主题)\]/;
const selectPlaceholder = () => {
  const m = placeholder.exec(box.value);
  if (m) { box.focus(); box.setSelectionRange(m.index, m.index + m[0].length); }
  return !!m;
};

// Why the message cannot go out now; empty when it can.
const refusal = () => {
  if (upload.pending()) return word('live-uploading');
  if (!box.value.trim() && !upload.count()) return word('live-empty');
  if (selectPlaceholder()) return word('live-placeholder');
  return '';
};

export const post = async (url, body, key) => {
  const res = await fetch(url, {method: 'POST', body, headers: {'X-Fawn': '1', Accept: 'application/json', ...(key && {'Idempotency-Key': key})}});
  const frame = await res.json().catch(() => ({}));
  if (!res.ok) throw Object.assign(new Error(frame.error || word('live-senderror')), {shown: true});
  return frame;
};

// The first message of a chat leads into it without a page load. What has been typed since
// is the chat's draft by then.
const go = async (to) => {
  if (form.hasAttribute('data-new') && to.endsWith('/' + form.dataset.thread)) {
    keep('');
    form.removeAttribute('data-new');
    keep();
    try { await (await later('enter')).enter(to, say); return; } catch { /* the page itself is the same */ }
  }
  location.href = to;
};

const follow = async (frame) => {
  if (frame.location) { await go(frame.location); return; }
  // The stream of a page that follows a run may be ahead of this answer, or behind it: what both would tell comes from the
  // stream alone, which is opened again where the page is.
  if (following() && (frame.running || frame.streamed)) {
    if (!frame.streamed) { toEnd(); say(word('live-running')); }
    listen();
    return;
  }
  const last = document.querySelector('.turn.last')?.id;
  if (frame.running) {
    $('no-turns')?.remove();
    for (const t of document.querySelectorAll('.turn.last')) t.classList.remove('last');
  }
  apply(frame);
  if (frame.running) { toEnd(); say(word('live-running')); listen(frame.cursor, last); }
};

// The first message stands on the page before the server has answered. painted takes it back.
const paint = (text) => {
  later('enter').catch(() => {}); // is there when the answer is
  const hello = form.closest('.hello'), mine = document.createElement('div'), you = document.createElement('div');
  mine.className = 'mine';
  you.className = 'you';
  you.dir = 'auto';
  you.textContent = text || [...$('chips').children].map((li) => li.dataset.name).join('\n');
  mine.append(you);
  hello.prepend(mine);
  hello.classList.add('sent');
  painted = () => { mine.remove(); hello.classList.remove('sent'); painted = null; };
};

// The key of what is being sent. A message whose answer was lost keeps it, so that the server takes it once.
let lost = {};
const keyOf = (to, body) => {
  const what = to + '?' + body;
  if (lost.what !== what) lost = {what, key: [...crypto.getRandomValues(new Uint32Array(4))].join('-')};
  return lost.key;
};

const send = async (to = form.action) => {
  sending = true;
  form.setAttribute('aria-busy', 'true');
  const text = box.value, body = new FormData(form), chips = [...$('chips').children];
  body.delete('files');
  if (form.hasAttribute('data-new')) paint(text.trim());
  box.value = '';
  fit();
  try {
    const sent = new URLSearchParams([...body].filter(([, v]) => typeof v === 'string'));
    const frame = await post(to, sent, keyOf(to, sent));
    lost = {};
    problem();
    if (text.trim() !== '/compact') for (const li of chips) li.remove();
    keep();
    await follow(frame);
  } catch (err) {
    painted?.();
    again = false;
    box.value = box.value ? text + '\n' + box.value : text;
    fit();
    keep();
    problem(err.shown ? err.message : word('live-senderror'));
  } finally {
    sending = false;
    form.removeAttribute('aria-busy');
    box.focus({preventScroll: true});
    if (again) form.requestSubmit();
    again = false;
  }
};

const stop = async (button) => {
  button.disabled = true;
  button.setAttribute('aria-label', word('compose-stopping'));
  say(word('compose-stopping'));
  box.focus({preventScroll: true});
  try {
    apply(await post(button.formAction));
  } catch (err) {
    button.disabled = false;
    toast(err.shown ? err.message : word('live-senderror'));
  }
};

const submit = (e) => {
  const by = e.submitter;
  if (by?.hasAttribute('data-stop')) { e.preventDefault(); stop(by); return; }
  if (by?.hasAttribute('data-remove')) { e.preventDefault(); upload.remove(by.closest('li')); return; }
  const left = upload.leaving();
  if (left) {
    e.preventDefault();
    left.then(() => form.requestSubmit(by?.isConnected ? by : undefined));
    return;
  }
  const why = refusal();
  if (why || sending) {
    e.preventDefault();
    if (why) problem(why);
    else again = true;
    return;
  }
  problem();
  e.preventDefault();
  send(by?.hasAttribute('data-elsewhere') ? by.formAction : undefined);
};

// Escape twice within a moment stops the run.
let escaped = 0;
const escape = () => {
  const b = $('send')?.querySelector('[data-stop]:not(:disabled)');
  if (!b) return;
  if (Date.now() - escaped < 1500) { escaped = 0; stop(b); } else escaped = Date.now();
};

// Arrow up in an empty box, or in one that still holds an earlier message,
// walks back through what was sent here.
let recalled = -1;
const recall = (e) => {
  const sent = [...document.querySelectorAll('.you')].map((el) => el.textContent).reverse();
  const at = box.value === '' ? -1 : box.value === sent[recalled] ? recalled : -2;
  const next = at + (e.key === 'ArrowUp' ? 1 : -1);
  if (at === -2 || next < -1 || next >= sent.length || (at === -1 && next < 0)) return;
  e.preventDefault();
  recalled = next;
  box.value = next < 0 ? '' : sent[next];
  keep();
  fit();
};

// A touch keyboard has no Shift+Enter: there Enter is a new line.
const sends = (e) => e.key === 'Enter' && !e.shiftKey && !e.isComposing && e.keyCode !== 229 &&
  (e.ctrlKey || e.metaKey || !matchMedia('(pointer: coarse)').matches);

const keydown = (e) => {
  if (e.key === 'Escape') { escape(); return; }
  if ((e.key === 'ArrowUp' || e.key === 'ArrowDown') && !e.shiftKey && !e.altKey && !e.isComposing) { recall(e); return; }
  if (!sends(e)) return;
  e.preventDefault();
  form.requestSubmit($('send')?.querySelector('button') ?? undefined);
};

// Forms that go on or try again answer like a sent message.
const sendForm = async (e) => {
  const f = e.target.closest('form[data-send]');
  if (!f) return;
  e.preventDefault();
  const b = e.submitter ?? f.querySelector('button'), body = new FormData(f, e.submitter);
  const text = b.dataset.queueAct === 'edit' && f.closest('li').firstElementChild.textContent;
  const typed = f.elements.text, stay = 'stay' in f.dataset; // the focus stays on the button, which must not be lost on the way
  b.disabled = !stay;
  if (typed && stay) typed.value = typed.defaultValue; // what is sent is no draft any more
  try {
    await follow(await post(f.getAttribute('action'), new URLSearchParams(body))); // f.action is a field of that name, if there is one
    if (text) { box.value = box.value ? box.value + '\n' + text : text; keep(); fit(); }
    // A form that came back with a mistake keeps the focus.
    const mistake = document.querySelector('#network .why')?.closest('form')?.querySelector('input:not([type=hidden]), select, textarea');
    if (!stay) (mistake ?? box)?.focus({preventScroll: true});
  } catch (err) {
    if (typed && stay && $(typed.id)) $(typed.id).value = body.get('text');
    toast(err.shown ? err.message : word('live-senderror'));
  }
  b.disabled = false;
};

// In the form of an earlier message keys do what they do in the box, and Escape leaves.
const rewrite = (e) => {
  const f = e.target.closest?.('.rewrite');
  if (!f) return;
  if (e.key === 'Escape') { e.stopPropagation(); f.querySelector('[data-cancel]').click(); }
  if (sends(e) && e.target.matches('textarea')) { e.preventDefault(); f.requestSubmit(); }
};

// A follow-up goes out as it is. With Alt, or when there is something in the box
// already, it is only put there.
const put = (text) => { box.value = text; keep(); fit(); problem(); box.focus(); };
const followUp = (e) => {
  const b = e.target.closest('[data-next]'), d = $('next-ask');
  if (!b || !(e.altKey || box.value.trim() || upload.count())) return;
  e.preventDefault();
  if (!box.value.trim()) { put(b.value); return; }
  d.returnValue = '';
  d.onclose = () => { if (d.returnValue) put(d.returnValue === 'append' ? box.value + '\n' + b.value : b.value); };
  d.showModal();
};

let left; // the message whose form was left: its pencil gets the focus back
const leave = (e) => { if (e.target.closest?.('[data-cancel]')) left = e.target.closest('.mine').id; };
const comeBack = () => {
  if (left && document.activeElement === document.body) $(left)?.querySelector('[data-act]').focus({preventScroll: true});
  left = '';
};

// Digits choose among the answers of a question while one of them has the focus. A new question leaves the focus where
// it is: who types goes on typing.
const pick = (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || 'nokeys' in document.documentElement.dataset || !e.target.matches?.('.quest [name=option]')) return;
  if (/^[1-9]$/.test(e.key)) e.target.closest('.quest').querySelectorAll('[name=option]')[e.key - 1]?.click();
};

// insert puts a text where the cursor is, with a space between words.
const insert = (text) => {
  const before = box.value.slice(0, box.selectionStart);
  box.setRangeText((/\S$/.test(before) ? ' ' : '') + text, box.selectionStart, box.selectionEnd, 'end');
  keep();
  fit();
  box.focus();
};

export const start = () => {
  on(document, 'submit', sendForm);
  on(document, 'keydown', pick);
  on(document, 'keydown', rewrite);
  on(document, 'click', leave);
  on(document, 'htmx:after:swap', comeBack);
  on(document, 'fawn:idle', () => problem());
  on(document, 'click', followUp);
  on(document, 'click', (e) => {
    const b = e.target.closest('#dictate,[data-act=speak]');
    if (b) later('voice').then((m) => (b.id ? m.dictate : m.speak)(b, form, {insert, say, toast}));
  });
  on(document, 'click', (e) => {
    const s = e.target.closest('[data-starter]');
    if (!s || !box) return;
    e.preventDefault();
    box.value = s.dataset.starter;
    keep();
    fit();
    problem();
    if (!selectPlaceholder()) box.focus();
  });
  // A page left in the middle of sending, and come back to, has sent it.
  addEventListener('pageshow', (e) => { if (e.persisted) { painted?.(); sending = false; } });
};

// bind takes up the message box of the page that is shown.
export const bind = () => {
  form = $('compose');
  box = $('q');
  if (!form || !box) return;
  upload.bind(form, problem);
  const d = $('dictate');
  if ('dictate' in form.dataset ? navigator.mediaDevices && window.MediaRecorder : window.SpeechRecognition ?? window.webkitSpeechRecognition) d.hidden = false;
  on(form, 'submit', submit);
  on(box, 'keydown', keydown);
  on(box, 'input', () => {
    keep();
    fit();
    problem();
    if ('/@'.includes(box.value[0])) later('slash').then((m) => m.open(box)).catch(() => {}); // typed out it works, too
  });
  try { if (!box.value) box.value = sessionStorage.getItem(key()) ?? ''; } catch { /* see keep */ }
  fit();
  if (box.autofocus && placeholder.test(box.value)) selectPlaceholder();
};
