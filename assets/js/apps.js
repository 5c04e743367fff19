// The host side of apps of MCP servers: each is a frame without an origin, which speaks JSON-RPC with this page. It
// comes with the first word of an app.
const version = '2026-01-26', maxWaiting = 50, maxHeight = 1600;
const hosts = new Map(); // by the window of the frame

// What an app may look like: colours and type of this page, in the names of the protocol.
const names = {
  '--color-background-primary': '--surface', '--color-background-secondary': '--bg', '--color-background-tertiary': '--sunken',
  '--color-text-primary': '--ink', '--color-text-secondary': '--ink-2', '--color-text-tertiary': '--ink-3',
  '--color-border-primary': '--line-strong', '--color-border-secondary': '--line', '--color-ring-primary': '--pine',
  '--color-text-danger': '--rose', '--color-background-danger': '--rose-soft', '--color-text-success': '--pine',
  '--color-background-success': '--pine-soft', '--color-text-warning': '--amber', '--color-background-warning': '--amber-soft',
  '--color-text-info': '--sky', '--color-background-info': '--sky-soft',
  '--border-radius-sm': '--r-s', '--border-radius-md': '--r-m', '--border-radius-lg': '--r-l',
};
const theme = () => {
  const own = document.documentElement.dataset.theme;
  return own === 'light' || own === 'dark' ? own : matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
};
const look = () => {
  const style = getComputedStyle(document.documentElement), variables = {'--font-sans': 'system-ui, sans-serif', '--font-mono': 'ui-monospace, monospace'};
  for (const [key, own] of Object.entries(names)) variables[key] = style.getPropertyValue(own).trim();
  return {theme: theme(), styles: {variables}};
};

// A message of an app becomes a draft, unless there is one.
const draft = (text) => {
  const q = document.getElementById('q');
  if (!q || q.value.trim()) return false;
  q.value = text;
  q.dispatchEvent(new Event('input', {bubbles: true}));
  q.focus();
  return true;
};

// Another theme is told to all apps.
let told = theme();
const retheme = () => {
  if (told === theme()) return;
  told = theme();
  for (const [win, h] of hosts) if (h.frame.isConnected) h.notify('ui/notifications/host-context-changed', look()); else hosts.delete(win);
};
new MutationObserver(retheme).observe(document.documentElement, {attributeFilter: ['data-theme']});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', retheme);
addEventListener('pagehide', () => { for (const h of hosts.values()) h.send({id: 'end', method: 'ui/resource-teardown', params: {reason: 'the page is left'}}); });

class Denied extends Error {
  constructor(code, message) { super(message); this.code = code; }
}

class Host {
  constructor(frame) {
    this.frame = frame;
    this.at = frame.dataset.app;
    this.waiting = 0;
    this.last = Promise.resolve();
    this.data = fetch(this.at + '/data', {headers: {'X-Fawn': '1'}}).then((r) => r.ok ? r.json() : null, () => null);
  }
  // A frame without an origin has no other name to be told by.
  send(m) { this.frame.contentWindow?.postMessage({jsonrpc: '2.0', ...m}, '*'); }
  notify(method, params) { this.send({method, params}); }

  async take(m) {
    if (typeof m.method !== 'string') return; // an answer
    if (m.id === undefined) return this.heard(m.method, m.params ?? {});
    try {
      this.send({id: m.id, result: await this.asked(m.method, m.params ?? {})});
    } catch (err) {
      this.send({id: m.id, error: {code: err.code ?? -32603, message: err.message}});
    }
  }

  async heard(method, p) {
    if (method === 'ui/notifications/size-changed' && p.height > 0) this.frame.style.height = Math.min(Math.ceil(p.height), maxHeight) + 'px';
    if (method !== 'ui/notifications/initialized' || this.ready) return;
    this.ready = true;
    const data = await this.data;
    if (!data) return this.notify('ui/notifications/tool-cancelled', {reason: 'the result is gone'});
    this.notify('ui/notifications/tool-input', {arguments: data.arguments});
    this.notify('ui/notifications/tool-result', data.result);
  }

  async asked(method, p) {
    switch (method) {
      case 'ui/initialize': {
        const data = await this.data;
        this.ready = false;
        return {
          protocolVersion: version, hostInfo: {name: 'Fawn', version: '1'},
          hostCapabilities: {openLinks: {}, serverTools: {}, logging: {}},
          hostContext: {
            ...look(), displayMode: 'inline', availableDisplayModes: ['inline'], platform: 'web',
            containerDimensions: {width: this.frame.clientWidth, maxHeight}, locale: document.documentElement.lang || navigator.language,
            timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
            ...data && {toolInfo: {tool: {name: data.tool, inputSchema: {type: 'object'}}}},
          },
        };
      }
      case 'ping': return {};
      case 'ui/request-display-mode': return {mode: 'inline'};
      case 'tools/call': return this.call(p);
      case 'ui/open-link': this.attended(); return this.link(String(p.url));
      case 'ui/message': {
        this.attended();
        const parts = [p.content].flat().filter((c) => c?.type === 'text').map((c) => String(c.text));
        if (!parts.length || !draft(parts.join('\n').slice(0, 20000))) throw new Denied(-32000, 'Message sending denied');
        return {};
      }
    }
    throw new Denied(-32601, `This host has no ${method.slice(0, 80)}`);
  }

  // One call at a time; the server judges it.
  call(p) {
    if (this.waiting >= maxWaiting) throw new Denied(-32000, 'Too many calls are waiting');
    this.waiting++;
    const done = this.last.then(async () => {
      const res = await fetch(this.at + '/call', {
        method: 'POST', headers: {'X-Fawn': '1', 'Content-Type': 'application/json'},
        body: JSON.stringify({name: String(p.name), arguments: p.arguments ?? {}}),
      });
      const body = await res.json().catch(() => ({}));
      if (!res.ok) throw new Denied(-32000, typeof body.detail === 'string' ? body.detail : `The call was refused (${res.status})`);
      return body;
    }).finally(() => this.waiting--);
    this.last = done.catch(() => {});
    return done;
  }

  // A person sees where a link leads, and opens it.
  // Only an app that the reader works with, and that waits for no answer of theirs, may ask for their attention.
  attended() {
    if (document.activeElement !== this.frame || this.frame.closest('figure').querySelector('.ask')) throw new Denied(-32000, 'Denied: the reader is elsewhere');
  }
  link(address) {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (!url || !/^https?:$/.test(url.protocol)) throw new Denied(-32000, 'Invalid URL');
    const {link, open, no} = this.frame.dataset, figure = this.frame.closest('figure');
    return new Promise((done, denied) => {
      const ask = document.createElement('div');
      ask.className = 'ask';
      ask.role = 'alertdialog';
      const words = document.createElement('p');
      words.id = 'ask-' + Math.random().toString(36).slice(2);
      ask.setAttribute('aria-labelledby', words.id);
      const where = document.createElement('b');
      where.textContent = url.href;
      words.append(...link.split('%s').flatMap((part, i) => i ? [where, part] : [part]));
      const yes = Object.assign(document.createElement('a'), {className: 'btn line', href: url.href, target: '_blank', rel: 'noopener noreferrer', textContent: open});
      const not = Object.assign(document.createElement('button'), {className: 'btn line', type: 'button', textContent: no});
      yes.onclick = () => { ask.remove(); done({}); };
      not.onclick = () => { ask.remove(); denied(new Denied(-32000, 'Link opening denied by user')); };
      ask.append(words, yes, not);
      figure.append(ask);
      not.focus();
    });
  }
}

export const take = (e) => {
  let h = hosts.get(e.source);
  if (!h) {
    const frame = [...document.querySelectorAll('iframe[data-app]')].find((f) => f.contentWindow === e.source);
    if (!frame) return;
    for (const [win, old] of hosts) if (!old.frame.isConnected) hosts.delete(win);
    hosts.set(e.source, h = new Host(frame));
  }
  h.take(e.data);
};
