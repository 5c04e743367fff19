// Tells hidden pages how runs end, and offers notifications. Most of it is loaded on first use.
import {$, later, on} from './dom.js';

const long = 30_000; // ms that a run takes before notifications are offered

const notify = (f) => later('notify').then(f).catch(() => {});

const away = () => {
  const t = $('turns');
  if (document.hidden && t?.hasAttribute('data-running')) notify((m) => m.watch(t.dataset.thread));
};
const settings = () => { if ($('notify')) notify((m) => m.settings()); };

export const start = () => {
  on(document, 'visibilitychange', away);
  on(document, 'fawn:page', away);
  on(document, 'fawn:idle', (e) => { if (e.detail > long) notify((m) => m.offer()); });
  on(document, 'htmx:after:swap', settings);
  settings();
  away();
};
