// What a reader is told who does not look at the page: a mark in the title of the tab, and
// for those who want it a notification. Loaded when a tab with a run at work is hidden, when
// a run took long, and by the settings.
import {at} from './at.js';

const mark = '(●) ', every = 3000;
const script = {'X-Fawn': '1', Accept: 'application/json'};
const save = (notify) => fetch(at('/ui/prefs'), {method: 'POST', body: new URLSearchParams({notify}), headers: script});

// What the browser thinks of notifications.
const state = () => {
  if (!window.isSecureContext) return 'insecure';
  return 'Notification' in window ? Notification.permission : 'missing';
};

let timer, note, asked;
const tell = (news, tag) => {
  if (!news || state() !== 'granted') return;
  try {
    note = new Notification(news.title, {body: news.body, tag});
    note.onclick = () => { window.focus(); note.close(); };
  } catch { /* browsers of phones want a service worker for this: the mark must do */ }
};

const poll = async (thread) => {
  try {
    const res = await fetch(at(`/ui/threads/${thread}/status`), {headers: script});
    if (res.status === 404) return;
    const now = await res.json();
    if (!document.hidden) return;
    const paused = now.running && now.state === 'waiting'; // a command waits for an answer
    if (res.ok && (paused || !now.running && now.state !== 'running')) {
      // Without a state somebody has read it already, in another tab.
      if (now.state && !document.title.startsWith(mark)) document.title = mark + document.title;
      if (!paused || !asked) tell(now.notice, thread);
      if (!paused) return;
    }
    asked = paused;
  } catch { /* the network is away, too */ }
  watch(thread);
};

// watch looks after a chat until its run has ended or the reader is back.
export const watch = (thread) => {
  clearTimeout(timer);
  if (document.hidden) timer = setTimeout(poll, every, thread);
};

document.addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  clearTimeout(timer);
  note?.close();
  if (document.title.startsWith(mark)) document.title = document.title.slice(mark.length);
});

// offer asks, once a run took long, a reader who never said anything about notifications.
export const offer = async () => {
  if (/\bnotify=/.test(document.cookie) || !/default|granted/.test(state()) || document.getElementById('notify-offer')) return;
  const res = await fetch(at('/ui/notifications'), {headers: script});
  if (!res.ok) return;
  document.querySelector('.dockwrap').insertAdjacentHTML('afterbegin', await res.text());
  const el = document.getElementById('notify-offer');
  el.addEventListener('click', async (e) => {
    const said = e.target.closest('[data-notify]')?.dataset.notify;
    if (!said) return;
    el.remove();
    document.getElementById('q')?.focus({preventScroll: true});
    const allowed = said === 'on' ? await Notification.requestPermission() : '';
    if (allowed !== 'default') save(allowed === 'granted' ? 'on' : 'off'); // who closed the browser's question is asked again
  });
};

const show = () => {
  for (const el of document.querySelectorAll('#notify > [data-state]')) el.hidden = el.dataset.state !== state();
};

// settings shows what the browser thinks, and asks it when notifications are switched on.
let listening;
export const settings = () => {
  show();
  if (listening) return;
  listening = true;
  document.addEventListener('change', async (e) => {
    if (e.target.name !== 'notify' || e.target.value !== 'on' || state() !== 'default') return;
    await Notification.requestPermission();
    show();
  });
};
