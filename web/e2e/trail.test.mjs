// The trail: what the agent does, in plain words, foldable, and the same after a reload.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const dir = '/mnt/user-data/workspace';
const call = (name, args) => ({ tool_calls: [{ name, args: { description: 'a step', ...args } }] });
const part = (n) => call('read_file', { path: `${dir}/notes.txt`, start_line: n, end_line: n });
const long = 'A long answer follows here. '.repeat(20);
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const lines = (page) => page.evaluate(() => [...document.querySelectorAll('.turn.last .steps > li')]
  .filter((li) => !li.parentElement.closest('.steps li'))
  .map((li) => (li.querySelector('.head') ?? li).textContent.replace(/\s+/g, ' ').replace(/ \d+(\.\d+)? s/g, '').trim()));

test('steps stand in order with verb and target, and a failed one says so', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted(
    { reasoning: 'First **look** around.', text: 'I look first.', ...call('ls', { path: dir }) },
    call('write_file', { path: `${dir}/notes.txt`, content: 'one\ntwo\n' }), call('read_file', { path: `${dir}/none.txt` }), { gate: 'order', tokens: 100 }));
  await page.waitForSelector('.turn.last .step.fail .why', { state: 'attached' });
  assert.ok(await page.locator('.turn.last .trail').evaluate((d) => d.open), 'open while it runs');
  await fawn.script.open('order');
  await finished(page);
  const want = await lines(page);
  assert.match(want[0], /^Thought/);
  assert.equal(want[1], 'I look first.');
  assert.match(want[2], /^Listed a folder/);
  assert.match(want[3], /^Wrote notes\.txt ?done/);
  assert.match(want[4], /^Read none\.txt ?failed/);
  const node = await page.evaluate(() => getComputedStyle(document.querySelector('.turn.last .step.fail'), '::before').borderRadius);
  assert.equal(node, '3px', 'a failed node is a square');
  await page.waitForFunction(() => !document.querySelector('.turn.last .trail').open);
  assert.match(await page.innerText('.turn.last .trail > summary'), /Worked for .*5 steps/s);
  await page.reload();
  assert.deepEqual(await lines(page), want);
  await page.click('.turn.last .trail > summary');
  await page.click('.step.fail .head');
  await page.waitForSelector('.step.fail .body .err');
  assert.match(await page.innerText('.step.fail .body'), /none\.txt/);
  clean(page);
});

test('a command that failed is a failed node with its exit code', { skip }, async (t) => {
  const { sandbox } = await fetch(fawn.base + '/health').then((r) => r.json());
  if (lacks('a sandbox', sandbox.provider && sandbox.provider !== 'off')) return t.skip('no sandbox');
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted(call('bash', { command: 'seq 1 20; exit 3' }), { text: 'It failed.', tokens: 40 }));
  await finished(page);
  const want = await lines(page);
  assert.match(want[0], /^Ran seq 1 20; exit 3 ?exit 3 ?failed$/);
  await page.reload();
  assert.deepEqual(await lines(page), want);
  await page.click('.turn.last .trail > summary');
  assert.match(await page.innerText('.step.fail .rest'), /20\nExit Code: 3[^]*Show all 21 lines/);
  await page.click('.step.fail .head');
  await page.waitForSelector('.step.fail .body .out.long');
  assert.equal(await page.locator('.step.fail .body .err').count(), 0, 'what it printed is output, not an error');
  await shot(page, 'command-failed');
  assert.deepEqual(await violations(page), []);
  clean(page);
});

test('a wait for the provider counts down, and can be ended', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ error: { status: 429, message: 'slow down', retry_after: 100 } }));
  const wait = page.locator('.turn.last .step.retry');
  await wait.waitFor();
  assert.match(await wait.innerText(), /Rate limited\.\s+Retrying in \d+ s\s+attempt 2 of 3\s+Stop/);
  const left = async () => Number((await wait.locator('time').innerText()).match(/\d+/)[0]);
  const first = await left();
  await page.waitForFunction((n) => Number(document.querySelector('.step.retry time').textContent.match(/\d+/)[0]) < n, first);
  await shot(page, 'retry');
  assert.deepEqual(await violations(page), []);
  const other = await page.tab(); // and without a script, after a reload
  await other.goto(page.url());
  await until('both count down to the same moment', async () => Math.abs(Number((await other.innerText('.step.retry time')).match(/\d+/)[0]) - await left()) <= 2);
  await wait.getByRole('button', { name: 'Stop' }).click();
  await finished(page);
  assert.match(await page.innerText('.turn.last'), /You stopped this run/);
  assert.equal(await wait.count(), 0);
  clean(page, other);
});

test('an opened step shows a plan, an edit and files as people read them, and its JSON under Raw', { skip }, async () => {
  const post = (path, body) => fetch(fawn.base + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }).then((r) => r.json());
  const { thread_id: id } = await post('/threads', {});
  const calls = [
    ['write_todos', { todos: [{ content: 'Collect the prices', status: 'completed' }, { content: 'Write the report', status: 'in_progress' }] }],
    ['str_replace', { description: 'correct it', path: `${dir}/notes.txt`, old_str: 'one\ntwo\nthree', new_str: 'one\n2 & a half\nthree' }],
    ['present_files', { filepaths: ['/mnt/user-data/outputs/report.md'] }],
    ['write_file', { description: 'write it', path: `${dir}/a.py`, content: 'print("hello")\n' }],
    ['look_up', { term: 'heat pump', depth: 2 }],
  ];
  await post(`/threads/${id}/state`, { values: { messages: [{ type: 'human', content: 'Do it' },
    { type: 'ai', content: '', tool_calls: calls.map(([name, args], i) => ({ id: `call_${i}`, name, args })) },
    ...calls.map(([name], i) => ({ type: 'tool', tool_call_id: `call_${i}`, name, content: 'OK' })), { type: 'ai', content: 'Done.' }] } });
  for (const options of [{}, { colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }]) {
    const page = await open(browser, fawn.base, options);
    await page.goto(`${fawn.base}/workspace/chats/${id}`);
    await page.click('.turn.last .trail > summary');
    const step = (i) => page.locator('.turn.last .steps > li').nth(i);
    for (let i = 0; i < calls.length; i++) {
      await step(i).locator('.head').click();
      await step(i).locator('.body > a').waitFor({ state: 'detached' }); // what comes moves the next one from under a click
    }
    await step(0).locator('.checks li.done', { hasText: 'Collect the prices' }).waitFor();
    assert.match(await step(0).locator('.checks li.run').innerText(), /^Write the report/);
    await step(1).locator('.diff').first().waitFor();
    assert.deepEqual(await step(1).locator('.diff > *').evaluateAll((all) => all.map((e) => `${e.tagName} ${e.textContent}`)),
      ['SPAN   one', 'DEL - two', 'INS + 2 & a half', 'SPAN   three']);
    assert.match(await step(2).locator('.cards .file').innerText(), /report\.md/);
    assert.match(await step(3).locator('.out.long').innerText(), /^print\("hello"\)/);
    assert.match(await step(4).locator('.args').innerText(), /term\s+heat pump\s+depth\s+2/);
    assert.equal(await step(1).locator('.plain pre').first().isVisible(), false, 'the JSON is folded');
    await step(1).locator('.plain summary').click();
    assert.match(await step(1).locator('.plain pre').first().innerText(), /"old_str": "one\\ntwo/);
    await shot(page, `opened-steps-${options.colorScheme ?? 'light'}`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, 'the page scrolls sideways');
    assert.deepEqual(await violations(page), []);
    clean(page);
    await page.context().close();
  }
  const plain = await open(browser, fawn.base, { javaScriptEnabled: false });
  await plain.goto(`${fawn.base}/workspace/chats/${id}`);
  await plain.click('.turn.last .trail > summary');
  await plain.click('.turn.last .steps > li:nth-child(2) .head');
  await plain.click('.turn.last .steps > li:nth-child(2) .body a');
  await plain.waitForSelector('.stepdoc .diff ins');
  await shot(plain, 'opened-step-page');
  await plain.context().close();
});

test('a trail that the reader has touched stays as it is', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted(call('ls', { path: dir }), { text: long, rate: 100 }));
  // However quick the answer was: after the first click the trail is the reader's own.
  const summary = '.turn.last .trail > summary';
  await page.click(summary);
  if (!(await page.$eval('.turn.last .trail', (d) => d.open))) await page.click(summary);
  await finished(page);
  const seen = await page.evaluate(() => new Promise((done) => setTimeout(() => done(document.querySelector('.turn.last .trail').open), 900)));
  assert.ok(seen);
});

test('calls of one tool in a row are one line, live and after a reload, and what was opened stays open', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted(
    call('write_file', { path: `${dir}/notes.txt`, content: 'one\ntwo\nthree\nfour\n' }), part(1), part(2), { ...part(3), gate: 'opened' }, part(4), { text: long, rate: 60 }));
  await page.click('.turn.last .steps > li:nth-child(2) .head');
  await page.waitForSelector('.turn.last .steps > li:nth-child(2) .body .out');
  await fawn.script.open('opened');
  await page.waitForSelector('.turn.last .step.group');
  assert.equal(await page.locator('.group details.sd[open] details.sd[open]').count(), 1, 'the opened step is open inside the opened group');
  assert.equal(await page.evaluate(() => document.activeElement.closest('.group') !== null), true, 'the focus went along');
  await finished(page);
  const want = await lines(page);
  assert.equal(want.length, 2);
  assert.match(want[1], /^Read notes\.txt ?4 parts.*done$/);
  assert.equal(await page.locator('.group .steps > li').count(), 4);
  await page.reload();
  assert.deepEqual(await lines(page), want);
  await page.click('.turn.last .trail > summary');
  await page.click('.group > details > summary');
  await page.click('.group .steps > li:nth-child(3) .head');
  await page.waitForSelector('.group .steps > li:nth-child(3) .body .out');
  assert.match(await page.innerText('.group .steps > li:nth-child(3) .body'), /three/);
  clean(page);
});

test('a turn without steps has no trail, for nobody', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ error: { status: 401, message: 'Incorrect API key provided' } }));
  await finished(page);
  const said = await page.locator('article.turn.last').ariaSnapshot();
  assert.match(said, /key was rejected/);
  assert.doesNotMatch(said, /steps?\b|Failed after/);
  assert.equal(await page.locator('article.turn.last .trail').isVisible(), false);
  clean(page);
});

test('helpers are cards side by side, or below each other where there is no room', { skip }, async () => {
  const post = (path, body) => fetch(fawn.base + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }).then((r) => r.json());
  const { thread_id: id } = await post('/threads', {});
  const jobs = ['Price model', 'Subsidy rules', 'Installers'], ends = ['Task Succeeded. Result: **€4,100** less\n\n- by 2035', 'Task Succeeded. Result: €5,000', 'Task failed. Error: the site did not answer'];
  await post(`/threads/${id}/state`, { values: { messages: [
    { type: 'human', content: 'Compare them' },
    { type: 'ai', content: '', tool_calls: jobs.map((description, i) => ({ id: `call_${i}`, name: 'task', args: { description, prompt: `Do: ${description}`, subagent_type: 'general-purpose' } })) },
    ...ends.map((content, i) => ({ type: 'tool', tool_call_id: `call_${i}`, name: 'task', content, status: i === 2 ? 'error' : 'success', additional_kwargs: { subagent_model_name: 'larch-2', subagent_token_usage: { total_tokens: 12000 + i } } })),
    { type: 'ai', content: 'The heat pump.' },
  ] } });
  const path = `${fawn.base}/workspace/chats/${id}`;
  for (const [form, places] of [[{ colorScheme: 'light' }, 2], [{ colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }, 1]]) {
    const page = await open(browser, fawn.base, form);
    await page.goto(path);
    await page.click('.turn.last .trail > summary');
    const cards = page.locator('.step.sub');
    assert.deepEqual(await cards.evaluateAll((all) => all.map((c) => c.className)), ['step tool done sub', 'step tool done sub', 'step tool fail sub']);
    const boxes = await Promise.all([0, 1].map((i) => cards.nth(i).boundingBox()));
    assert.equal(new Set(boxes.map((b) => b.x)).size, places);
    assert.equal(boxes[0].y === boxes[1].y, places === 2);
    assert.match(await cards.nth(0).innerText(), /Price model[^]*general-purpose · larch-2 · 12\.0k tokens[^]*€4,100/);
    assert.match(await cards.nth(2).innerText(), /the site did not answer/);
    await cards.nth(0).locator('summary').click();
    await page.waitForSelector('.step.sub .body .md li');
    assert.match(await cards.nth(0).innerText(), /Do: Price model/);
    await shot(page, `helpers-${form.colorScheme}`);
    assert.deepEqual(await violations(page), []);
    clean(page);
    await page.context().close();
  }
});
