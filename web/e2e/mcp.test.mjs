// Real MCP servers from npm: pasted into the settings, called by a run over stdio and HTTP, and
// failing well when one is killed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clean, launch, open, shot, violations } from './browser.mjs';
import { chromium, here, lacks, scripted, start, until } from './harness.mjs';
import { freePort } from './ports.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const bin = (name) => join(here, 'node_modules', '.bin', 'mcp-server-' + name);
const secret = 'sk-canary-e2e-40917';
let fawn, browser, http, port;

before(async () => {
  if (skip) return;
  const allowed = ['everything', 'filesystem', 'memory'].map(bin).join(',');
  [fawn, browser] = await Promise.all([start({ env: { DEER_FLOW_MCP_STDIO_COMMAND_ALLOWLIST: allowed } }), launch()]);
  port = await freePort();
  http = spawn(bin('everything'), ['streamableHttp'], { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' });
  await until('the server listens', () => fetch(`http://127.0.0.1:${port}/mcp`).then(() => true, () => false));
});
after(async () => { await browser?.close(); await fawn?.stop(); http?.kill('SIGKILL'); });

const call = async (name, args) => {
  const input = { messages: [{ type: 'human', content: scripted({ tool_calls: [{ name, args }] }, { text: 'done' }) }] };
  const res = await fetch(fawn.base + '/threads/mcp/runs/wait', {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ assistant_id: 'lead_agent', input, if_not_exists: 'create' }),
  });
  const text = await res.text();
  assert.ok(res.ok && !text.includes(secret), text);
  return JSON.parse(text).messages.findLast((m) => m.type === 'tool').content;
};
const ready = (name) => until(name + ' is connected', async () => {
  const { servers } = await (await fetch(fawn.base + '/api/mcp/status')).json();
  return servers.find((s) => s.name === name)?.state === 'ready';
});

test('servers are pasted, used and removed', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + '/workspace/settings/mcp');
  await page.locator('summary', { hasText: 'Add servers' }).click();
  await page.locator('#mcp-json').fill(JSON.stringify({ mcpServers: {
    all: { command: bin('everything'), args: ['stdio'], env: { API_TOKEN: secret }, session_init_timeout: 60 },
    files: { command: bin('filesystem'), args: ['/mnt/user-data/workspace'], session_init_timeout: 60 },
    graph: { command: bin('memory'), session_init_timeout: 60 },
    web: { type: 'http', url: `http://127.0.0.1:${port}/mcp` },
  } }));
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('graph', { exact: true }).waitFor();
  for (const name of ['all', 'files', 'graph', 'web']) await ready(name);
  await page.reload();
  await page.getByText('Connected').first().waitFor();
  assert.deepEqual(await violations(page), []);
  await shot(page, 'servers');

  assert.match(await call('all_echo', { message: 'over stdio' }), /over stdio/);
  assert.match(await call('web_echo', { message: 'over HTTP' }), /over HTTP/);
  assert.doesNotMatch(await call('all_get-env', {}), /OPENAI_API_KEY/);
  await call('files_write_file', { path: '/mnt/user-data/workspace/note.txt', content: 'kept' });
  assert.equal(readFileSync(join(fawn.data, 'threads/mcp/user-data/workspace/note.txt'), 'utf8'), 'kept');
  await call('graph_create_entities', { entities: [{ name: 'Fawn', entityType: 'program', observations: ['one file'] }] });
  assert.match(await call('graph_read_graph', {}), /one file/);

  http.kill('SIGKILL');
  assert.match(await call('web_echo', { message: 'gone' }), /Error: the MCP server "web"/);

  await page.locator('.mrow', { hasText: 'graph' }).getByText('Remove', { exact: true }).first().click();
  await page.getByRole('button', { name: 'Remove: graph' }).click();
  await page.getByRole('button', { name: 'Remove: graph', includeHidden: true }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Add: graph', includeHidden: true }).waitFor({ state: 'attached' }); // it is among the known ones again
  assert.ok(!fawn.log().includes(secret));
  clean(page);
});
