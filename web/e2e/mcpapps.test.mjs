// Apps of MCP servers: a server of ours offers one, which is shown in the chat, is handed its result, calls a tool, asks for
// a link to be opened and writes a draft; it reaches neither the page around it nor the network.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ask, finished, launch, open, shot, violations } from './browser.mjs';
import { chromium, here, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const uri = 'ui://deer/counter', kind = 'text/html;profile=mcp-app';
const published = join(here, 'node_modules', '.bin', 'mcp-server-basic-vanillajs');
let fawn, browser, server, reached = 0;

const html = () => `<!doctype html><html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><style>
body{margin:0;padding:16px;font:15px system-ui;background:var(--color-background-primary);color:var(--color-text-primary)}
button{font:inherit;margin:4px 8px 4px 0;padding:6px 12px}</style></head><body>
<h1 id="title">…</h1><p id="said">…</p><p id="tried">…</p>
<button id="more">More</button><button id="link">Link</button><button id="bad">Bad link</button><button id="say">Say</button>
<script>
let last = 0; const waiting = new Map(), $ = (id) => document.getElementById(id);
const ask = (method, params) => new Promise((done, failed) => { waiting.set(++last, [done, failed]); parent.postMessage({jsonrpc: '2.0', id: last, method, params}, '*'); });
const tell = (method, params) => parent.postMessage({jsonrpc: '2.0', method, params}, '*');
const paint = (c) => { if (c?.theme) document.documentElement.style.colorScheme = c.theme;
  for (const [k, v] of Object.entries(c?.styles?.variables ?? {})) document.documentElement.style.setProperty(k, v); };
addEventListener('message', ({data: m}) => {
  if (m.method === 'ui/notifications/tool-input') $('title').textContent = 'Deer of ' + m.params.arguments.wood;
  else if (m.method === 'ui/notifications/tool-result') $('said').textContent = m.params.structuredContent.deer + ' deer';
  else if (m.method === 'ui/notifications/host-context-changed') paint(m.params);
  else if (waiting.has(m.id)) { const [done, failed] = waiting.get(m.id); waiting.delete(m.id); m.error ? failed(m.error) : done(m.result); }
});
const show = (p) => p.then((r) => { $('said').textContent = typeof r === 'string' ? r : JSON.stringify(r); }, (e) => { $('said').textContent = 'refused: ' + e.message; });
$('more').onclick = () => show(ask('tools/call', {name: 'count', arguments: {by: 5}}).then((r) => r.structuredContent.deer + ' deer'));
$('link').onclick = () => show(ask('ui/open-link', {url: 'https://deer.example/herd?a=1'}));
$('bad').onclick = () => show(ask('ui/open-link', {url: 'javascript:alert(1)'}));
$('say').onclick = () => show(ask('ui/message', {role: 'user', content: {type: 'text', text: 'Count them again'}}));
(async () => {
  const hello = await ask('ui/initialize', {appInfo: {name: 'deer', version: '1'}, appCapabilities: {}, protocolVersion: '2026-01-26'});
  paint(hello.hostContext);
  tell('ui/notifications/initialized', {});
  tell('ui/notifications/size-changed', {width: 300, height: 330});
  const tried = [];
  try { tried.push(String(parent.document.title)); } catch { tried.push('no page'); }
  try { localStorage.x = 1; tried.push('storage'); } catch { tried.push('no storage'); }
  try { await fetch('OUTSIDE'); tried.push('network'); } catch { tried.push('no network'); }
  try { await fetch('/threads/search', {method: 'POST', body: '{}'}); tried.push('own server'); } catch { tried.push('no server'); }
  $('tried').textContent = tried.join(', ');
})();
</script></body></html>`.replace('OUTSIDE', `http://127.0.0.1:${server.address().port}/outside`);

const answers = {
  initialize: () => ({ protocolVersion: '2025-11-25', serverInfo: { name: 'deer', version: '1' }, capabilities: { tools: {}, resources: {} } }),
  'tools/list': () => ({ tools: [
    { name: 'herd', description: 'shows the herd', inputSchema: { type: 'object', properties: { wood: { type: 'string' } } }, _meta: { ui: { resourceUri: uri } } },
    { name: 'count', description: 'counts', inputSchema: { type: 'object' }, _meta: { ui: { visibility: ['app'] } } }] }),
  'tools/call': ({ name, arguments: given }) => ({ content: [{ type: 'text', text: 'Seven deer.' }], structuredContent: { deer: name === 'count' ? 7 + given.by : 7 } }),
  'resources/list': () => ({ resources: [] }),
  'resources/read': () => ({ contents: [{ uri, mimeType: kind, text: html() }] }),
};

before(async () => {
  if (skip) return;
  server = createServer(async (req, res) => {
    if (req.url === '/outside') { reached++; return res.end('outside'); }
    if (req.method !== 'POST') return res.writeHead(405).end();
    let body = '';
    for await (const part of req) body += part;
    const m = JSON.parse(body);
    if (m.id === undefined) return res.writeHead(202).end();
    const answer = answers[m.method];
    res.setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify({ jsonrpc: '2.0', id: m.id, ...answer ? { result: answer(m.params) } : { error: { code: -32601, message: 'no such method' } } }));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  [fawn, browser] = await Promise.all([start({ env: { DEER_FLOW_MCP_STDIO_COMMAND_ALLOWLIST: published } }), launch()]);
  await connect({ deer: { type: 'http', url: `http://127.0.0.1:${server.address().port}/mcp`, enabled: true } });
});

// connect makes servers the ones that there are.
const connect = async (servers) => {
  const res = await fetch(fawn.base + '/api/mcp/config', { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ mcp_servers: servers }) });
  assert.equal(res.status, 200, await res.text());
  const names = Object.keys(servers);
  await until('the server is connected', async () => {
    const { servers: list } = await (await fetch(fawn.base + '/api/mcp/status')).json();
    return names.every((name) => list.some((s) => s.name === name && s.state === 'ready'));
  });
};
after(async () => { await browser?.close(); await fawn?.stop(); server?.close(); });

test('an app is shown, handed its result, and kept in its frame', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ tool_calls: [{ name: 'deer_herd', args: { wood: 'the north' } }] }, { text: 'There they are.' }));
  await finished(page);
  const frame = page.frameLocator('iframe[data-app]');
  const says = (text) => frame.locator('#said').filter({ hasText: text }).waitFor();
  await frame.locator('#title', { hasText: 'Deer of the north' }).waitFor();
  await says('7 deer');
  await frame.locator('#tried', { hasText: 'no page, no storage, no network, no server' }).waitFor();
  assert.equal(reached, 0, 'the app reached the network');
  await page.waitForFunction(() => document.querySelector('iframe[data-app]').clientHeight === 330);

  await frame.locator('#more').click();
  await says('12 deer');
  await frame.locator('#bad').click();
  await says('refused: Invalid URL');
  await frame.locator('#link').click();
  const asked = page.locator('.mcpapp .ask');
  await asked.getByText('https://deer.example/herd?a=1').waitFor();
  for (const [look, colorScheme, width] of [['light', 'light', 1280], ['dark', 'dark', 1280], ['narrow', 'light', 390]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 844 });
    await page.locator('.mcpapp').scrollIntoViewIfNeeded();
    await shot(page, `app-${look}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is too wide');
    assert.deepEqual(await violations(page), []);
    const ground = await frame.locator('body').evaluate((b) => getComputedStyle(b).backgroundColor);
    assert.equal(ground, look === 'dark' ? 'rgb(23, 29, 26)' : 'rgb(255, 255, 255)');
  }
  await page.setViewportSize({ width: 1280, height: 844 });
  await asked.getByRole('button', { name: 'Not now' }).click();
  await says('refused: Link opening denied by user');
  await frame.locator('#say').click();
  await page.waitForFunction(() => document.querySelector('#q').value === 'Count them again');
  await frame.locator('#say').click(); // a draft of the reader is not written over
  await says('refused: Message sending denied');

  await page.reload(); // a chat that is opened later
  await frame.locator('#title', { hasText: 'Deer of the north' }).waitFor();
  await says('7 deer');
  // What the app tried is refused by its own policy, and nothing else went wrong.
  assert.deepEqual(page.wrong.filter((w) => !/connect-src|Content Security Policy|127\.0\.0\.1:\d+\/outside/.test(w)), []);
});

test('a published app is shown, calls its tool, and asks for a link and a message', { skip: skip || !existsSync(published) && lacks(published, false), timeout: 180_000 }, async () => {
  await connect({ clock: { type: 'stdio', command: published, args: ['--stdio'], enabled: true } });
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ tool_calls: [{ name: 'clock_get-time', args: {} }] }, { text: 'That late.' }));
  await finished(page);
  const frame = page.frameLocator('iframe[data-app]'), time = frame.locator('#server-time');
  await time.filter({ hasText: /^\d{4}-\d\d-\d\dT/ }).waitFor();
  const first = await time.textContent();
  await until('the app has called its tool', async () => {
    await frame.locator('#get-time-btn').click();
    return await time.textContent() !== first && /^\d{4}-/.test(await time.textContent());
  });
  await frame.locator('#open-link-btn').click();
  const asked = page.locator('.mcpapp .ask');
  await asked.getByText('https://modelcontextprotocol.io/').waitFor();
  await asked.getByRole('button', { name: 'Not now' }).click();
  await frame.locator('#send-message-btn').click();
  await page.waitForFunction(() => document.querySelector('#q').value === 'This is message text.');
});
