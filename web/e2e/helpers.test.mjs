// Helpers at work: cards side by side, one stopped alone, the trail of one in the panel, and the
// events that the JavaScript SDK gets.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Client } from 'langgraph-sdk-2';
import { clean, finished, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const look = { tool_calls: [{ name: 'ls', args: { description: 'look', path: '/mnt/user-data/workspace' } }] };
const send = (...jobs) => ({
  tool_calls: jobs.map(([description, ...turns]) => ({ name: 'task', args: { description, prompt: scripted(...turns), subagent_type: 'general-purpose' } })),
});
let fawn, browser;

before(async () => { [fawn, browser] = await Promise.all([start(), skip ? null : launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const post = (path, body) => fetch(fawn.base + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }).then((r) => r.json());
const helpers = { subagent_enabled: true };

test('helpers work side by side, one is stopped alone, and a trail opens in the panel', { skip }, async () => {
  const { thread_id: id } = await post('/threads', {});
  const jobs = send(['Price model', look, { text: 'Almost. ', gate: 'price', tokens: 3 }], ['Subsidy rules', look, { text: 'I read', hang: true }], ['Installers', { text: 'Three firms.' }]);
  await post(`/threads/${id}/runs`, { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: scripted(jobs, { text: 'A heat pump.' }) }] }, context: helpers });
  const page = await open(browser, fawn.base);
  await page.goto(`${fawn.base}/workspace/chats/${id}`);
  const card = (name) => page.locator('.step.sub', { hasText: name });
  await page.waitForFunction(() => document.querySelectorAll('.step.sub').length === 3 && document.querySelector('.step.sub.done'));
  assert.match(await card('Installers').innerText(), /general-purpose · \S+[^]*tokens[^]*Three firms\./);

  await card('Price model').getByRole('link', { name: 'Steps' }).click();
  const panel = page.locator('#panel');
  await panel.getByText('Listed a folder').waitFor();
  assert.match(await panel.locator('h2').first().innerText(), /Price model/);
  assert.deepEqual(await violations(page), []);
  await shot(page, 'helper-trail');

  await card('Subsidy rules').getByRole('button', { name: 'Stop the helper: Subsidy rules' }).click();
  await page.waitForFunction(() => document.querySelector('.step.sub.stop'));
  assert.match(await card('Price model').getAttribute('class'), /run/);

  await fawn.script.open('price');
  await panel.getByText('Almost. lorem lorem lorem').waitFor(); // the panel has followed
  await finished(page);
  assert.equal(await page.locator('article.turn.last .ans').innerText(), 'A heat pump.');
  const classes = () => page.locator('.step.sub').evaluateAll((all) => all.map((c) => c.className.replace(/ ?last/, '')));
  const want = ['step tool done sub', 'step tool stop sub', 'step tool done sub'];
  assert.deepEqual(await classes(), want);

  await page.reload();
  assert.deepEqual(await classes(), want);
  await page.click('.turn.last .trail > summary');
  await card('Price model').locator('summary').click();
  await card('Price model').getByRole('link', { name: 'Steps' }).click();
  await panel.getByText('Listed a folder').waitFor();
  await panel.locator('.step .head').first().click();
  await panel.locator('.step .body .out, .step .body p').first().waitFor(); // the details of a helper's own step
  clean(page);
});

test('a reload in the middle loses nothing, and stop ends all helpers', { skip }, async (t) => {
  const { thread_id: id } = await post('/threads', {});
  const jobs = send(['North', look, { text: 'It rains', hang: true }], ['South', look, { text: 'Dry, as of ', gate: 'south', tokens: 1 }], ['West', look, { text: 'Windy', hang: true }]);
  const run = await post(`/threads/${id}/runs`, { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content: scripted(jobs, { text: 'Never said.' }) }] }, context: helpers });
  const get = (path) => fetch(`${fawn.base}${path}`).then((r) => r.json());
  const page = await open(browser, fawn.base);
  await page.goto(`${fawn.base}/workspace/chats/${id}`);
  const card = (name) => page.locator('.step.sub', { hasText: name });
  const shows = (n, text) => page.waitForFunction(([n, text]) => [...document.querySelectorAll('.step.sub.run')].filter((c) => c.innerText.includes(text)).length === n, [n, text]);
  await shows(3, 'tokens');
  const tokens = (name) => card(name).locator('.meta.low').first().innerText();
  const before = await tokens('South');
  await page.addInitScript(() => { // the panel must not have to look now and then
    const later = window.setTimeout;
    window.setTimeout = (f, ms, ...rest) => (ms === 1500 ? 0 : later(f, ms, ...rest));
  });
  await page.reload();
  await shows(3, 'tokens');
  assert.equal(await tokens('South'), before);
  await card('South').getByRole('link', { name: 'Steps' }).click();
  await page.locator('#panel').getByText('Listed a folder').waitFor();
  await fawn.script.open('south'); // what comes after the reload is shown too
  await page.locator('#panel').getByText('Dry, as of lorem').waitFor();
  await card('South').getByText('Dry, as of lorem').waitFor();
  await page.waitForSelector('.step.sub.done');

  const clicked = Date.now();
  await page.click('#send [data-stop]');
  const ended = await until('the run has ended', async () => { const r = await get(`/threads/${id}/runs/${run.run_id}`); return r.status !== 'running' && r; });
  t.diagnostic(`the run with its helpers was stopped ${Date.now() - clicked} ms after the click`);
  assert.equal(ended.status, 'interrupted');
  await page.locator('article.turn.last .card.stopped').waitFor();
  const classes = ['stop', 'done', 'stop'].map((state) => `step tool ${state} sub`);
  const shown = () => page.locator('.step.sub').evaluateAll((all) => all.map((c) => c.className.replace(/ ?last/, '')));
  assert.deepEqual(await shown(), classes);
  await page.reload();
  assert.deepEqual(await shown(), classes);

  const events = await get(`/api/threads/${id}/runs/${run.run_id}/events?limit=500`);
  const ends = events.map((e) => e.content?.type ?? e.event_type).filter((name) => /^task_c|^run\.end$/.test(name));
  assert.deepEqual(ends, ['task_completed', 'task_cancelled', 'task_cancelled', 'run.end']);
  const { values } = await get(`/threads/${id}/state`);
  assert.deepEqual(values.messages.filter((m) => m.type === 'tool').map((m) => m.additional_kwargs.subagent_status), ['cancelled', 'completed', 'cancelled']);
  clean(page);
});

test('the SDK gets the events of helpers, and their frames when it asks for them', async () => {
  const client = new Client({ apiUrl: fawn.base, apiKey: null, callerOptions: { maxRetries: 0 } });
  for (const streamSubgraphs of [false, true]) {
    const { thread_id: id } = await client.threads.create();
    const content = scripted(send(['Look', look, { text: 'Nothing there.' }]), { text: 'So it is.' });
    const events = [];
    for await (const e of client.runs.stream(id, 'lead_agent', { input: { messages: [{ type: 'human', content }] }, context: helpers, streamMode: ['custom', 'updates', 'messages-tuple'], streamSubgraphs })) events.push(e);
    const told = events.filter((e) => e.event === 'custom').map((e) => e.data);
    assert.deepEqual(told.map((e) => e.type), ['task_started', 'task_running', 'task_running', 'task_running', 'task_completed']);
    const call = told[0].task_id;
    assert.deepEqual(told[0], { type: 'task_started', task_id: call, description: 'Look', model_name: 'script' });
    told.slice(1, 4).forEach((e, i) => {
      assert.deepEqual([e.task_id, e.message_index, e.total_messages, e.model_name, e.message.type], [call, i + 1, i + 1, 'script', ['ai', 'tool', 'ai'][i]]);
      assert.ok(e.usage.total_tokens >= e.usage.input_tokens + e.usage.output_tokens);
    });
    assert.deepEqual(told[4], { type: 'task_completed', task_id: call, result: 'Nothing there.', usage: told[3].usage, model_name: 'script' });
    const inside = [...new Set(events.map((e) => e.event).filter((n) => n.includes('|')))].sort();
    assert.deepEqual(inside, streamSubgraphs ? [`messages|tools:${call}`, `updates|tools:${call}`] : []);
    assert.ok(events.some((e) => e.event === 'updates' && e.data.tools?.messages?.[0].additional_kwargs?.subagent_status === 'completed'));
  }
});
