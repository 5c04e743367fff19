// nginx and Caddy in front, with the very configurations of docs/proxy.md: TLS, HTTP/2, a base
// path, streams that arrive as they are written and go on after a cut, large uploads, and the
// pages in a browser.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { answer, ask, finished, launch, open, send } from './browser.mjs';
import { chromium, end, held, here, lacks, launch as run, start, until, words } from './harness.mjs';
import { freePort } from './ports.mjs';

const name = 'fawn.example.org', base = '/fawn';
const docs = readFileSync(join(here, '..', '..', 'docs', 'proxy.md'), 'utf8');
const block = (kind) => {
  const found = docs.match(new RegExp('```' + kind + '\\n([\\s\\S]*?)```'));
  assert.ok(found, `docs/proxy.md has no block of ${kind}`);
  return found[1];
};
// with replaces what stands in the docs by what this machine has, each at least once.
const using = (text, pairs) => pairs.reduce((t, [from, to]) => {
  assert.ok(t.includes(from), `docs/proxy.md doesn't say ${from}`);
  return t.replaceAll(from, to);
}, text);

const paths = ['/usr/sbin/nginx', '/usr/bin/caddy', '/usr/bin/openssl'];
const skip = lacks('Chromium', existsSync(chromium)) || paths.map((p) => lacks(p, existsSync(p))).find(Boolean) || false;

let dir, fawn, browser;
const proxies = {};

// The address, the certificate and the limits of a large upload are this test's own.
const own = (addr, port) => [['127.0.0.1:2026', addr], ['/etc/ssl/fawn/cert.pem', join(dir, 'cert.pem')], ['/etc/ssl/fawn/key.pem', join(dir, 'key.pem')], ...port];

const nginx = async (addr) => {
  const port = await freePort(), file = join(dir, 'nginx.conf'), at = (f) => join(dir, 'nginx-' + f);
  writeFileSync(file, `pid ${at('pid')};\nerror_log stderr warn;\nworker_processes 1;\ndaemon off;\n${process.getuid() ? '' : 'user root;\n'}`
    + 'events {}\nhttp {\naccess_log off;\n' + ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((t) => `${t}_temp_path ${at(t)};\n`).join('')
    + using(block('nginx'), own(addr, [['listen 443', `listen 127.0.0.1:${port}`]])) + '}\n');
  return { port, child: run(join(dir, 'nginx.log'), '/usr/sbin/nginx', ['-c', file, '-e', 'stderr'], {}), log: join(dir, 'nginx.log') };
};

const caddy = async (addr) => {
  const port = await freePort(), file = join(dir, 'Caddyfile');
  writeFileSync(file, '{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n'
    + using(block('caddy'), own(addr, [[`${name} {`, `https://${name}:${port} {\n\tbind 127.0.0.1`]])));
  return { port, child: run(join(dir, 'caddy.log'), '/usr/bin/caddy', ['run', '--adapter', 'caddyfile', '--config', file], { HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir }), log: join(dir, 'caddy.log') };
};

before(async () => {
  if (skip) return;
  dir = mkdtempSync(join(tmpdir(), 'fawn-proxy-'));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=' + name,
    '-addext', 'subjectAltName=DNS:' + name, '-keyout', join(dir, 'key.pem'), '-out', join(dir, 'cert.pem')], { stdio: 'ignore' });
  const config = using(docs.match(/```yaml\n([\s\S]*?)```/)[1], [[name, name], ['/fawn', base]]);
  [fawn, browser] = await Promise.all([
    start({ config: config + 'uploads: {max_file_size: 110MiB, max_total_size: 120MiB}\nlogging: {enhance: {enabled: true}}\n' }),
    launch({ args: [`--host-resolver-rules=MAP ${name} 127.0.0.1`] })]);
  const addr = new URL(fawn.base).host;
  proxies.nginx = await nginx(addr);
  proxies.caddy = await caddy(addr);
  for (const [which, p] of Object.entries(proxies)) {
    p.origin = `https://${name}:${p.port}`;
    await until(`${which} answers`, async () => (await fetched(p, 'GET', '/ok').catch(() => ({}))).status === 200)
      .catch((e) => { throw new Error(e.message + '\n' + readFileSync(p.log, 'utf8')); });
  }
});
after(async () => {
  await browser?.close();
  for (const p of Object.values(proxies)) await end(p.child);
  await fawn?.stop();
  if (dir) rmSync(dir, { recursive: true, force: true });
});

// connect speaks HTTP/2 to a proxy and trusts nothing but its certificate.
const connect = (p) => new Promise((done, fail) => {
  const c = http2.connect(`https://127.0.0.1:${p.port}`, { servername: name, ca: readFileSync(join(dir, 'cert.pem')) });
  c.once('connect', () => done(c));
  c.once('error', fail);
});

const begin = (c, p, method, path, headers = {}, body) => {
  const req = c.request({ ':method': method, ':path': base + path, ':authority': `${name}:${p.port}`, ...headers }, { endStream: !body });
  if (body) req.end(body);
  return new Promise((done, fail) => {
    req.once('response', (h) => done({ req, status: h[':status'], headers: h }));
    req.once('error', fail);
  });
};

const whole = async (req) => {
  const parts = [];
  for await (const part of req) parts.push(part);
  return Buffer.concat(parts);
};

// fetched is one request over a connection of its own.
const fetched = async (p, method, path, headers, body) => {
  const c = await connect(p);
  try {
    const { req, status, headers: h } = await begin(c, p, method, path, headers, body);
    const bytes = await whole(req);
    return { status, headers: h, bytes, text: bytes.toString(), json: () => JSON.parse(bytes) };
  } finally { c.close(); }
};

const json = { 'content-type': 'application/json' };
const run1 = (text) => JSON.stringify({ assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: text }] },
  stream_mode: ['messages-tuple'], stream_resumable: true, on_disconnect: 'continue' });
// The text of the events that are there as a whole, and the words in it.
const text = (sse) => [...sse.matchAll(/^event: messages\ndata: (\[.*\])\n/gm)].map((m) => JSON.parse(m[1])[0])
  .filter((m) => m.type === 'AIMessageChunk').map((m) => m.content).join('');
const count = (sse) => (text(sse).match(/lorem/g) ?? []).length;
const lastID = (sse) => [...sse.matchAll(/^id: (.*)$/gm)].at(-1)?.[1];

// Reader follows a run to its end, through servers that go away.
class Reader {
  constructor(proxy, path) { Object.assign(this, { proxy, path, messages: new Map(), begun: 0, last: '' }); }

  words() { return [...this.messages.values()].join('').match(/lorem/g)?.length ?? 0; }

  async read() {
    for (const until = Date.now() + 600_000; Date.now() < until; await delay(50)) {
      // A server that leaves cuts its streams off, and the run goes on with the next one.
      if (await this.follow().catch(() => false) && await this.over().catch(() => false)) return;
    }
    throw new Error('the run did not end: ' + this.path);
  }

  async over() { return (await fetched(this.proxy, 'GET', this.path)).json().status === 'success'; }

  // follow reads from the last event until the end, or until the server is gone.
  async follow() {
    const c = await connect(this.proxy);
    try {
      const { req, status } = await begin(c, this.proxy, 'GET', this.path + '/stream?stream_mode=messages-tuple', this.last ? { 'last-event-id': this.last } : {});
      if (status !== 200) return false; // the proxy has nobody to ask
      req.setEncoding('utf8');
      let held = '';
      for await (const part of req) {
        const frames = (held + part).split('\n\n');
        held = frames.pop();
        for (const frame of frames) if (this.hear(frame)) return true;
      }
      return false;
    } finally { c.destroy(); }
  }

  hear(frame) {
    const field = (name) => frame.match(new RegExp(`^${name}: (.*)$`, 'm'))?.[1];
    if (field('event') === 'end') return true;
    this.last = field('id') ?? this.last;
    if (field('event') !== 'messages') return false;
    const [m] = JSON.parse(field('data'));
    if (m.type === 'remove') this.messages.delete(m.id);
    if (m.type === 'AIMessageChunk' && !this.messages.has(m.id)) this.begun++;
    if (m.type === 'AIMessageChunk') this.messages.set(m.id, (this.messages.get(m.id) ?? '') + m.content);
    return false;
  }
}

for (const which of ['nginx', 'caddy']) {
  test(`${which}: pages, links and origins below the path, over HTTP/2 with TLS`, { skip }, async () => {
    const p = proxies[which];
    const page = await fetched(p, 'GET', '/workspace/chats/new', { accept: 'text/html' });
    assert.equal(page.status, 200);
    assert.match(page.text, /href="\/fawn\/workspace\/chats"/);
    assert.doesNotMatch(page.text, /(href|src|action)="\/(?!fawn\/)/);
    const card = (await fetched(p, 'GET', '/.well-known/agent-card.json?assistant_id=lead_agent')).json();
    assert.ok(card.url.startsWith(`${p.origin}/fawn/a2a/`), card.url);
    for (const [origin, status] of [[p.origin, 200], ['https://evil.example', 403]]) {
      assert.equal((await fetched(p, 'POST', '/threads', { ...json, origin }, '{}')).status, status, origin);
    }
    // What a client says about itself is not believed.
    const lies = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'http', 'x-forwarded-prefix': '/evil', forwarded: 'for=203.0.113.9;host=evil.example', 'x-trace-id': 'lies-' + which };
    const told = await fetched(p, 'GET', '/.well-known/agent-card.json?assistant_id=lead_agent', lies);
    assert.ok(told.json().url.startsWith(`${p.origin}/fawn/a2a/`), told.text);
    await until('the request is in the log', () => fawn.log().includes('lies-' + which));
    assert.match(fawn.log().split('\n').find((l) => l.includes('lies-' + which)), /client=127\.0\.0\.1 /);
  });

  test(`${which}: a stream arrives as it is written, and goes on after a cut`, { skip }, async () => {
    const p = proxies[which], gate = 'proxy-' + which;
    const { thread_id: id } = (await fetched(p, 'POST', '/threads', json, '{}')).json();
    const c = await connect(p);
    const { req, status, headers } = await begin(c, p, 'POST', `/threads/${id}/runs/stream`, json, run1(held(gate, 50, 50)));
    assert.equal(status, 200);
    assert.match(headers['content-location'], new RegExp(`^${base}/threads/${id}/runs/`));
    let first = '';
    req.setEncoding('utf8');
    for await (const part of req) { // the model waits at the gate: whatever comes has not been held back
      first += part;
      if (count(first) >= 50 && first.endsWith('\n\n')) break;
    }
    c.destroy();
    await fawn.script.open(gate);
    const rest = await fetched(p, 'GET', headers.location, { 'last-event-id': lastID(first) });
    assert.equal(rest.status, 200);
    assert.equal(count(first), 50);
    assert.equal((text(first) + text(rest.text)).match(/lorem/g).length, 100);
  });

  test(`${which}: servers that follow each other under load lose nothing`, { skip }, async () => {
    const p = proxies[which], gate = 'restart-' + which;
    const readers = await Promise.all(Array.from({ length: 20 }, async () => {
      const { thread_id: id } = (await fetched(p, 'POST', '/threads', json, '{}')).json();
      const { run_id: run } = (await fetched(p, 'POST', `/threads/${id}/runs`, json, run1(held(gate, 50, 50)))).json();
      const r = new Reader(p, `/threads/${id}/runs/${run}`);
      return Object.assign(r, { id, run, done: r.read() });
    }));
    const waiting = (n) => until(`all wait at the gate for time ${n}`, () => readers.every((r) => r.begun === n && r.words() >= 50));
    await waiting(1);
    await fawn.leave();
    await fawn.restart();
    await waiting(2); // what was said so far was taken back, and is said again
    await fawn.kill();
    await fawn.restart();
    await waiting(3);
    await fawn.script.open(gate);
    await Promise.all(readers.map((r) => r.done));
    for (const r of readers) {
      assert.equal(r.words(), 100);
      const state = (await fetched(p, 'GET', `/threads/${r.id}/state`)).json();
      assert.deepEqual(state.values.messages.map((m) => m.type), ['human', 'ai']);
      assert.equal(state.values.messages[1].content.match(/lorem/g).length, 100);
      assert.equal((await fetched(p, 'GET', `/threads/${r.id}/runs/${r.run}`)).json().status, 'success');
    }
  });

  test(`${which}: 100 MB go up and come back`, { skip }, async () => {
    const p = proxies[which], file = randomBytes(100e6);
    const { thread_id: id } = (await fetched(p, 'POST', '/threads', json, '{}')).json();
    const edge = 'edge' + randomBytes(8).toString('hex');
    const form = Buffer.concat([Buffer.from(`--${edge}\r\nContent-Disposition: form-data; name="files"; filename="big.bin"\r\n\r\n`), file, Buffer.from(`\r\n--${edge}--\r\n`)]);
    const up = await fetched(p, 'POST', `/api/threads/${id}/uploads`, { 'content-type': 'multipart/form-data; boundary=' + edge }, form);
    assert.equal(up.status, 200, up.text);
    const back = await fetched(p, 'GET', up.json().files[0].artifact_url);
    const sum = (b) => createHash('sha256').update(b).digest('hex');
    assert.equal(sum(back.bytes), sum(file));
  });

  test(`${which}: a chat in the browser`, { skip }, async () => {
    const p = proxies[which], at = p.origin + base;
    const page = await open(browser, at, { ignoreHTTPSErrors: true });
    await ask(page, at, words(30));
    await finished(page);
    assert.match(await answer(page), /(lorem ?){30}/);
    await send(page, words(40));
    await page.waitForFunction(() => document.querySelectorAll('article.turn').length >= 2);
    await finished(page);
    await page.keyboard.press('Control+k'); // loaded when it is asked for
    await page.locator('dialog[open] [role=option]').first().waitFor();
    await page.keyboard.press('Escape');
    await page.goto(at);
    await page.waitForURL(at + '/workspace/chats/new');
    const cookies = await page.context().cookies();
    assert.deepEqual(cookies.filter((k) => k.path !== base), []);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  });

  test(`${which}: a stream of 20 minutes`, { skip: skip || (process.env.FAWN_SOAK !== '1' && 'only in make nightly-soak') }, async () => {
    const p = proxies[which];
    const { thread_id: id } = (await fetched(p, 'POST', '/threads', json, '{}')).json();
    const c = await connect(p), began = Date.now();
    const { req } = await begin(c, p, 'POST', `/threads/${id}/runs/stream`, json, run1(words(1200, 1)));
    const sse = (await whole(req)).toString();
    c.close();
    assert.equal(count(sse), 1200);
    assert.ok(Date.now() - began > 19 * 60_000);
  });
}

test('readers of a frozen server are let go in time, and go on where they were', { skip }, async () => {
  const gate = 'frozen', streams = await Promise.all(Object.values(proxies).map(async (p) => {
    const { thread_id: id } = (await fetched(p, 'POST', '/threads', json, '{}')).json();
    const c = await connect(p);
    const { req, headers } = await begin(c, p, 'POST', `/threads/${id}/runs/stream`, json, run1(held(gate, 50, 50)));
    const s = { p, c, at: headers.location, text: '' };
    req.setEncoding('utf8');
    s.over = (async () => { for await (const part of req) s.text += part; })().catch(() => {}).then(() => Date.now());
    await until('it has begun', () => count(s.text) >= 50);
    return s;
  }));
  const began = Date.now();
  process.kill(-fawn.pid(), 'SIGSTOP');
  try {
    for (const s of streams) {
      const took = await s.over - began;
      assert.ok(took > 15_000 && took < 45_000, `let go after ${took} ms`);
      s.c.destroy();
    }
  } finally { process.kill(-fawn.pid(), 'SIGCONT'); }
  await fawn.script.open(gate);
  for (const s of streams) {
    const rest = await fetched(s.p, 'GET', s.at, { 'last-event-id': lastID(s.text) });
    assert.equal((text(s.text) + text(rest.text)).match(/lorem/g).length, 100);
  }
});
