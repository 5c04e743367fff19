// One EventSource a visible page, open only while a run is active.
import {post} from './compose.js';
import {$, apply, on, patch, say, sheet, word} from './dom.js';
import {glide, steady} from './scroll.js';

let es, timer, deaf, bannerTimer, wait = 500, running = false, cursor = '', above = '', since, disk = false;

// The server beats every ten seconds: one that is silent for so long is frozen or out of reach, though the
// connection may look whole.
const silence = 30000;

const turns = () => $('turns');
const at = (what) => turns().dataset.stream.replace(/stream$/, what);

const close = () => {
  es?.close();
  es = null;
  clearTimeout(timer);
  clearTimeout(deaf);
};

const banner = (text, good) => {
  const b = $('banner');
  if (!b) return;
  b.hidden = !text;
  b.textContent = text;
  b.classList.toggle('good', !!good);
};

const calm = () => { clearTimeout(bannerTimer); bannerTimer = 0; };

const online = () => {
  wait = 500;
  calm();
  clearTimeout(deaf);
  deaf = setTimeout(() => es?.onerror(), silence);
  if (!disk && $('banner')?.hidden === false) {
    banner(word('live-back'), true);
    say(word('live-back'));
    setTimeout(() => { if ($('banner')?.classList.contains('good')) banner(''); }, 2000);
  }
};

// That the server waits for its disk stands in the banner until it says otherwise or is gone.
const waits = (now) => {
  if (now === disk) return;
  disk = now;
  banner(now ? word('live-disk') : '');
  if (now) say(word('live-disk'));
};

const finish = () => {
  running = false;
  close();
  calm();
  waits(false);
  if (!$('banner')?.classList.contains('good')) banner('');
  turns()?.removeAttribute('data-running');
  document.dispatchEvent(new CustomEvent('fawn:idle', {detail: Date.now() - since}));
};

// Fold the trail a moment after there is an answer worth reading, unless the
// reader has touched it. What is on screen stays where it is.
const foldAfter = 240, folding = new WeakSet();
const fold = (el) => {
  const trail = el.closest('.turn')?.querySelector('.trail[open]');
  if (!trail || 'touched' in trail.dataset || folding.has(trail)) return;
  folding.add(trail);
  setTimeout(() => {
    folding.delete(trail);
    if ('touched' in trail.dataset || !el.isConnected) return;
    const sc = $('scroll');
    const reading = sc && sc.dataset.follow !== 'true';
    // A reader who has gone back to the steps keeps them.
    if (reading && trail.getBoundingClientRect().bottom > sc.getBoundingClientRect().top) return;
    const before = el.getBoundingClientRect().top;
    if (reading) trail.open = false;
    else glide(() => { trail.open = false; });
    // What happens in turns above the screen is evened out for all of them.
    if (reading && trail.parentElement.getBoundingClientRect().bottom > sc.getBoundingClientRect().top) sc.scrollTop += el.getBoundingClientRect().top - before;
  }, 600);
};

// The page and the server no longer agree: the truth is one reload away, but a
// page that reloads again and again helps nobody.
const recover = () => {
  close();
  const last = Number(sessionStorage.getItem('recovered')) || 0;
  if (Date.now() - last < 10000) { banner(word('live-loaderror')); return; }
  sessionStorage.setItem('recovered', Date.now());
  location.reload();
};

// At the end blocks may be told anew, and long code folds. What is on the screen of a reader
// who has gone back stays open and where it is.
const settle = (el, ops) => {
  const sc = $('scroll');
  if (sc?.dataset.follow !== 'false' || !ops.some(([depth]) => depth < 0)) { patch(el, ops); return; }
  const {top, bottom} = sc.getBoundingClientRect();
  const seen = [...el.children].map((c, i) => [i, c.getBoundingClientRect()]).filter(([, r]) => r.bottom > top && r.top < bottom);
  patch(el, ops);
  for (const [i] of seen) for (const c of el.children[i]?.querySelectorAll('.all input') ?? []) c.checked = true;
  const [first] = seen;
  if (first) sc.scrollTop += (el.children[first[0]]?.getBoundingClientRect().top ?? first[1].top) - first[1].top;
};

const handlers = {
  md(data) {
    const p = JSON.parse(data);
    const el = $(p.m);
    if (!el) throw new Error(p.m);
    settle(el, p.ops);
    if (p.m.startsWith('m-') && el.textContent.length > foldAfter) fold(el);
  },
  html(data) { steady(() => apply(JSON.parse(data))); },
  reset(data) { steady(() => apply(JSON.parse(data))); },
  wait(data) { waits(JSON.parse(data).waiting); },
  beat() {},
  gone: recover, // the session has ended: what a reload shows says so
  done(data) {
    if (data) steady(() => apply(JSON.parse(data)));
    const last = [...document.querySelectorAll('.turn .ans > .md')].pop();
    if (last?.textContent) fold(last);
    // What was shown is no news in lists; only the page knows whether somebody could see it.
    if (!document.hidden) post(at('seen')).catch(() => {});
    finish();
  },
};

const open = () => {
  close();
  const el = turns();
  if (!running || !el || document.hidden) return;
  es = new EventSource(el.dataset.stream + '?' + new URLSearchParams({v: cursor, above}));
  deaf = setTimeout(() => es?.onerror(), silence);
  es.onopen = online;
  es.onerror = () => {
    // A bad status, a broken connection or a silent one: open again ourselves, later each time.
    close();
    waits(false);
    bannerTimer ||= setTimeout(() => { banner(word('live-offline')); say(word('live-offline')); }, 3000);
    timer = setTimeout(open, wait * (0.5 + Math.random()));
    wait = Math.min(wait * 2, 15000);
  };
  for (const [name, fn] of Object.entries(handlers)) {
    es.addEventListener(name, (e) => {
      online();
      try {
        fn(e.data);
      } catch (err) {
        console.error(err);
        recover();
        return;
      }
      if (e.lastEventId) cursor = e.lastEventId;
      document.dispatchEvent(new Event('fawn:frame'));
    });
  }
};

// Tell whether the page follows a run whose end it has not seen.
export const following = () => running;

// Start to listen from a cursor; used at page load and after a message was sent. A page that has
// not seen the end of the run before goes on where it is. last is the turn that was the last one on the page before a run
// whose message it has just got: another page may have added some.
export const listen = (from, last = '') => {
  if (!running) { cursor = from ?? cursor; above = last; }
  running = true;
  sheet('cards'); // what a run may show is there before it shows it
  since = document.querySelector('.turn.last time.tick')?.dataset.since ?? Date.now();
  turns()?.setAttribute('data-running', '');
  document.dispatchEvent(new Event('fawn:run'));
  open();
};

// A page at rest hears of nothing: when somebody comes back to it, it asks whether the chat went on in another window, with
// a message or with the last answer. One that stands in the middle of a long chat, or where a message is being changed,
// stays as it is.
let asking = false;
const look = async () => {
  const el = turns(), last = document.querySelector('.turn.last');
  if (!el || running || asking || document.hidden || document.querySelector('.rewrite') || !last && el.querySelector('.turn')) return;
  asking = true;
  try {
    const res = await fetch(at('status?turn=1'), {headers: {'X-Fawn': '1'}});
    if (res.status === 404) banner(word('live-gone'));
    const now = res.ok && !res.redirected && await res.json();
    const same = (now.turn ?? '') === (last?.id.slice(2) ?? '') && (now.run ?? '') === (last?.querySelector('.end')?.dataset.run ?? '');
    if (now && !running && el === turns() && (now.running || !same)) listen('');
  } catch { /* the next time may go better */ }
  asking = false;
};

const shown = () => { if (document.hidden) close(); else { open(); look(); } };
const restored = (e) => { if (e.persisted) shown(); };

export const start = () => {
  const el = turns();
  if (!el) return;
  cursor = el.dataset.cursor ?? '';
  on(document, 'visibilitychange', shown);
  addEventListener('focus', look);
  addEventListener('pagehide', close);
  addEventListener('pageshow', restored);
  addEventListener('online', () => { if (running && !es) { wait = 500; open(); } });
  if (el.hasAttribute('data-running')) listen();
};
