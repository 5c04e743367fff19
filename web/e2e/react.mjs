// A browser without a screen in which React hooks run: what a test needs to
// mount one, look at what it shows, and take it down again.
import { JSDOM } from 'jsdom';
import { setTimeout as delay } from 'node:timers/promises';

const dom = new JSDOM('<!doctype html><body></body>', { url: 'http://localhost/', pretendToBeVisual: true });
for (const [name, value] of Object.entries({ window: dom.window, document: dom.window.document, navigator: dom.window.navigator,
  HTMLElement: dom.window.HTMLElement, Node: dom.window.Node, sessionStorage: dom.window.sessionStorage })) {
  Object.defineProperty(globalThis, name, { value, configurable: true });
}
process.env.NODE_ENV = 'production';

const { createElement, useEffect, useSyncExternalStore } = await import('react');
const { createRoot } = await import('react-dom/client');

const text = (content) => (typeof content === 'string' ? content : content.map((b) => b.text ?? '').join(''));
const kind = (m) => (m.getType ? m.getType() : m.type);

// mount shows the messages of a hook in a list. thread is its thread id, which
// the hook may choose; hook is another one that is used beside it.
export const mount = (useStream, { hook, ...options }, thread) => {
  const host = document.createElement('div');
  document.body.append(host);
  const seen = { thread: thread ?? null, stream: null, errors: [], listeners: new Set(), shown: [], ready: false };
  const setThread = (id) => { seen.thread = id; for (const f of seen.listeners) f(); };
  const subscribe = (f) => { seen.listeners.add(f); return () => seen.listeners.delete(f); };
  const Chat = () => {
    const threadId = useSyncExternalStore(subscribe, () => seen.thread);
    const stream = useStream({ ...options, threadId, onThreadId: setThread, onError: (e) => seen.errors.push(e) });
    seen.stream = stream;
    hook?.(stream);
    const list = stream.messages.map((m) => `${kind(m)}: ${text(m.content)}`);
    seen.shown.push(list);
    useEffect(() => { seen.ready = true; }, []); // behind the effects of the hook: before them nobody could have clicked
    return createElement('ol', null, list.map((line, i) => createElement('li', { key: i }, line)));
  };
  const root = createRoot(host);
  root.render(createElement(Chat));
  return {
    get stream() { return seen.stream; },
    get ready() { return seen.ready; },
    get thread() { return seen.thread; },
    get errors() { return seen.errors; },
    lines: () => [...host.querySelectorAll('li')].map((li) => li.textContent),
    shown: seen.shown, // what every render showed
    unmount: () => { root.unmount(); host.remove(); },
  };
};

// settled waits until what a page shows passes a check and stays so for a moment.
export const settled = async (what, page, check, ms = 90_000) => {
  for (const limit = Date.now() + ms; Date.now() < limit; await delay(20)) {
    if (page.ready && !page.stream.isLoading && check(page)) return;
  }
  throw new Error(`after ${ms} ms still not: ${what}; shown: ${JSON.stringify(page.lines())}; loading ${page.stream?.isLoading}; ` +
    `errors ${page.errors.map(String)} ${page.stream?.error ?? ''}`);
};
