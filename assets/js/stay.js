// Says again and again that a temporary chat is on screen, and that it was left. Loaded where there is one.
const every = 60000;
let timer;

const app = () => document.querySelector('[data-here]');

// A new chat is made with the first word, so that files which are uploaded before the first message are deleted with it.
const tell = async () => {
  const el = app();
  if (!el) { clearInterval(timer); return; }
  const body = new URLSearchParams(document.querySelector('#compose[data-new]') ? {new: 1} : {});
  try {
    const res = await fetch(el.dataset.here, {method: 'POST', body, headers: {'X-Fawn': '1'}});
    if (res.status === 404) location.replace(el.dataset.gone);
  } catch { /* the next time may go better */ }
};

const left = () => { if (app()) navigator.sendBeacon(app().dataset.here, new URLSearchParams({left: 1})); };

export const start = () => {
  if (timer) return;
  timer = setInterval(tell, every);
  addEventListener('pagehide', left);
  addEventListener('pageshow', (e) => { if (e.persisted) tell(); });
  document.addEventListener('visibilitychange', () => { if (!document.hidden) tell(); });
  addEventListener('online', tell);
  tell();
};
