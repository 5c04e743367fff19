// What an MCP server asks the person while a tool works: a form in the chat, answered there or
// over REST; the real test server from npm asks.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open, shot, violations } from './browser.mjs';
import { chromium, here, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const everything = join(here, 'node_modules', '.bin', 'mcp-server-everything');
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({ env: { DEER_FLOW_MCP_STDIO_COMMAND_ALLOWLIST: everything } }), launch()]);
  const res = await fetch(fawn.base + '/api/mcp/config', { method: 'PUT', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ mcp_servers: { all: { type: 'stdio', command: everything, args: ['stdio'], enabled: true, session_init_timeout: 60 } } }) });
  assert.equal(res.status, 200, await res.text());
  await until('the server is connected', async () => {
    const { servers } = await (await fetch(fawn.base + '/api/mcp/status')).json();
    return servers[0].state === 'ready';
  });
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const asking = () => scripted({ tool_calls: [{ name: 'all_trigger-elicitation-request', args: {} }] }, { text: 'Thank you.' });
const result = async (id) => {
  const { values } = await (await fetch(`${fawn.base}/threads/${id}/state`)).json();
  return JSON.stringify(values.messages.findLast((m) => m.type === 'tool').content);
};

test('a server asks in the chat, and goes on with what was filled in', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, asking());
  const form = page.locator('#network form', { hasText: 'Please provide inputs' });
  await form.waitFor();
  await page.reload(); // the question is still there
  await form.waitFor();
  assert.equal(await form.getByLabel('Favorite first line').inputValue(), 'It was a dark and stormy night.');
  await form.getByLabel('Your full, legal name').fill('Ada');
  await form.getByLabel('Your favorite integer').fill('500'); // 100 at most
  await form.getByLabel('favorite type of pet').selectOption({ label: 'Dogs' });
  await form.getByLabel('Piano').check();
  await form.getByRole('button', { name: 'Send' }).click();
  await form.getByRole('alert').waitFor();
  assert.ok(await form.getByRole('alert').evaluate((p) => { // and seen, though the form is longer than the window
    const at = p.getBoundingClientRect();
    return at.top >= 0 && at.bottom < innerHeight;
  }), 'what is wrong is on the screen');
  assert.equal(await form.getByLabel('Your full, legal name').inputValue(), 'Ada', 'what was filled in stays');
  assert.equal(await form.getByLabel('favorite type of pet').evaluate((s) => s.selectedOptions[0].label), 'Dogs');
  assert.ok(await form.getByLabel('Piano').isChecked());
  assert.match(await form.getByRole('alert').innerText(), /“Integer”/);
  await shot(page, 'mcp-form-problem');
  assert.deepEqual(await violations(page), []);
  await form.getByLabel('Your favorite integer').fill('7');
  await form.getByRole('button', { name: 'Send' }).click();
  await finished(page);
  assert.match(await result(id), /Ada/);
  assert.match(await result(id), /7/);
  await page.waitForFunction(() => !document.querySelector('#network form'));
  clean(page);
  await page.context().close();
});

test('a question is declined on a phone, and another answered over REST', { skip }, async () => {
  const page = await open(browser, fawn.base, { colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  let id = await ask(page, fawn.base, asking());
  const form = page.locator('#network form');
  await form.waitFor();
  await shot(page, 'mcp-form-phone');
  await form.getByRole('button', { name: 'Decline' }).click();
  await finished(page);
  assert.match(await result(id), /declined/);

  id = await ask(page, fawn.base, asking());
  await form.waitFor();
  const path = `${fawn.base}/api/threads/${id}/mcp/questions`;
  const [question] = (await (await fetch(path)).json()).questions;
  assert.equal(question.server, 'all');
  const say = (body) => fetch(`${path}/${question.id}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  assert.equal((await say({ action: 'accept', content: { integer: 'many' } })).status, 422);
  assert.equal((await say({ action: 'accept', content: { name: 'Eve', integer: 12 } })).status, 200);
  await finished(page);
  assert.match(await result(id), /12/);
  assert.equal((await say({ action: 'accept', content: {} })).status, 409);
  clean(page);
  await page.context().close();
});

test('what was filled in stays when another question comes or goes', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const call = { name: 'all_trigger-elicitation-request', args: {} };
  const id = await ask(page, fawn.base, scripted({ tool_calls: [call, call] }, { text: 'Thank you.' }));
  const path = `${fawn.base}/api/threads/${id}/mcp/questions`;
  await page.locator('#network form').nth(1).waitFor();
  const [one, other] = (await (await fetch(path)).json()).questions;
  const form = page.locator(`#network form:has([name=question][value="${one.id}"])`);
  await form.getByLabel('Your full, legal name').fill('Ada');
  await form.getByLabel('favorite type of pet').selectOption({ label: 'Dogs' });
  await form.getByLabel('Piano').check();
  const done = await fetch(`${path}/${other.id}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ action: 'decline' }) });
  assert.equal(done.status, 200);
  await page.locator(`#network [value="${other.id}"]`).waitFor({ state: 'detached' }); // the element has come anew
  assert.equal(await form.getByLabel('Your full, legal name').inputValue(), 'Ada');
  assert.equal(await form.getByLabel('favorite type of pet').evaluate((s) => s.selectedOptions[0].label), 'Dogs');
  assert.ok(await form.getByLabel('Piano').isChecked());
  await form.getByRole('button', { name: 'Send' }).click();
  await finished(page);
  assert.match(await result(id) + JSON.stringify((await (await fetch(`${fawn.base}/threads/${id}/state`)).json()).values.messages), /Ada/);
  clean(page);
  await page.context().close();
});

test('where nobody sees the question, it is cancelled', { skip }, async () => {
  const res = await fetch(fawn.base + '/threads/api/runs/wait', { method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: asking() }] }, if_not_exists: 'create' }) });
  assert.ok(res.ok, await res.text());
  assert.match(await result('api'), /cancel/i);
});
