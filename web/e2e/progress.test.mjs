// What is seen of a run while it works and when it is stopped: the plan, the commands with
// their output, the stop; and what can be said about an answer afterwards.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answer, ask, clean, finished, launch, newChat, open, shot } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ models: { planner: 'display_name: Planner, supports_thinking: true' } }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const turns = (page, n) => page.waitForFunction((n) => document.querySelectorAll('article.turn').length === n, n);
const plan = (done, ...names) => ({ tool_calls: [{ name: 'write_todos', args: { todos: names.map((content, i) => ({ content, status: i < done ? 'completed' : i === done ? 'in_progress' : 'pending' })) } }] });

test('the plan counts from nothing to all, survives a reload, and is absent without one', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const names = ['Collect the prices', 'Compare them', 'Write the report'];
  const counts = (text) => page.waitForFunction((t) => document.querySelector('.todo summary')?.textContent.includes(t), text);
  await page.goto(fawn.base + newChat);
  await page.click('[popovertarget=models]');
  await page.click('#models label:has([value=planner])');
  await page.fill('#q', scripted({ ...plan(0, ...names) }, { text: 'First. ', gate: 'one', tokens: 1, ...plan(1, ...names) }, { text: 'Then. ', gate: 'two', tokens: 1, ...plan(3, ...names) }, { text: 'All done.' }));
  await page.press('#q', 'Enter');
  await page.waitForURL(/chats\/(?!new)/);
  await counts('Plan 0 of 3');
  assert.match(await page.innerText('#plan summary'), /Collect the prices/);
  await page.reload();
  await counts('Plan 0 of 3');
  await fawn.script.open('one');
  await counts('Plan 1 of 3');
  await page.focus('#plan summary');
  await page.keyboard.press('Enter');
  await shot(page, 'plan');
  assert.deepEqual(await page.locator('#plan li').evaluateAll((all) => all.map((li) => li.className)), ['done', 'run', 'wait']);
  await fawn.script.open('two');
  await finished(page);
  await counts('Plan 3 of 3');
  assert.equal(await page.locator('.todo').evaluate((d) => d.open), false, 'all is done, so it folds');
  assert.ok((await page.locator('.todo').boundingBox()).width < 300);
  await shot(page, 'plan-done');
  await page.click('.todo summary');
  assert.equal(await page.locator('.todo li.done').count(), 3);
  await page.reload();
  await counts('Plan 3 of 3');
  assert.equal(await page.locator('.todo').evaluate((d) => d.open), false);
  await ask(page, fawn.base, scripted({ text: 'No plan.' }));
  await finished(page);
  assert.equal(await page.locator('.todo').count(), 0);
  clean(page);
});

test('stop answers at once, keeps the text, marks the steps, and Continue goes on', { skip }, async (t) => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ text: 'I look first.', tool_calls: [{ name: 'ls', args: { description: 'look', path: '/mnt/user-data/workspace' } }] },
    { reasoning: 'Let me think.', text: 'So far so good. ', gate: 'never', tokens: 50 }, { text: 'Gone on.' }));
  await page.waitForFunction(() => /So far so good/.test(document.querySelector('.turn.last .ans').textContent));
  await page.fill('#q', 'a draft');
  const ms = await page.evaluate(() => {
    const b = document.querySelector('#send [data-stop]'), from = performance.now();
    b.click();
    if (!b.disabled || !/Stopping/.test(b.getAttribute('aria-label'))) throw new Error('the button says nothing');
    return performance.now() - from;
  });
  t.diagnostic(`the button answers after ${Math.round(ms)} ms, before anything else can happen`);
  await finished(page);
  assert.match(await answer(page), /^So far so good\./);
  assert.match(await page.innerText('.turn.last .card.stopped'), /Everything up to that point was kept/);
  assert.equal(await page.locator('.turn.last .step.run, .turn.last .step.wait').count(), 0);
  await page.waitForSelector('#send button:not([data-stop], [data-queue])');
  assert.equal(await page.inputValue('#q'), 'a draft');
  const said = () => page.$eval('#turns', (el) => el.textContent.replace(/\s+/g, ' ')); // whether the trail is folded yet or not
  const kept = await said();
  await page.reload();
  assert.equal(await said(), kept);
  await page.fill('#q', '');
  await page.click('.card.stopped button:has-text("Continue")');
  await page.waitForFunction(() => /Gone on/.test(document.querySelector('.turn.last .ans').textContent));
  await finished(page);
  assert.equal(await page.locator('article.turn').count(), 1);
  assert.equal(await page.locator('.card.stopped').count(), 0);
  clean(page);
});

test('a step that is in progress when it is stopped says so', { skip }, async (t) => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ tool_calls: [{ name: 'bash', args: { description: 'wait', command: 'echo begun; sleep 600' } }] }, { text: 'x' }));
  await page.waitForSelector('.turn.last .step.tool.run, .turn.last .step.fail, .turn.last .end .acts', { state: 'attached' });
  if (await page.locator('.turn.last .step.tool.run').count() === 0) { t.skip(lacks('A sandbox', false)); return; }
  await page.waitForFunction(() => /begun/.test(document.querySelector('.turn.last .step .out')?.textContent));
  await page.click('#send [data-stop]');
  await finished(page);
  await page.waitForSelector('.turn.last .step.stop', { state: 'attached' });
  assert.match(await page.locator('.turn.last .step.stop .head').textContent(), /stopped/);
  clean(page);
});

test('a command shows its last lines, and all of them when asked', { skip }, async (t) => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ tool_calls: [{ name: 'bash', args: { description: 'count', command: 'seq 1 60' } }] }, { text: 'Counted.' }));
  await finished(page);
  const step = page.locator('.turn.last .step.tool');
  if (!/\b60\b/.test(await step.textContent())) { t.skip(lacks('A sandbox', false)); return; }
  await page.click('.turn.last .trail > summary'); // from here on it is the reader's own
  if (!(await page.$eval('.turn.last .trail', (d) => d.open))) await page.click('.turn.last .trail > summary');
  assert.match(await step.locator('.head').innerText(), /Ran\s+seq 1 60/);
  const lines = async () => (await step.locator('.rest .out').innerText()).split('\n').filter((l) => /^\d+$/.test(l)).map(Number);
  assert.ok((await lines()).includes(60) && !(await lines()).includes(1), 'the last lines');
  await step.locator('.rest a').focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('.rest .out.long');
  assert.equal((await lines()).length, 60);
  assert.equal(await page.evaluate(() => document.activeElement.matches('.out.long')), true, 'the focus is where the lines are');
  clean(page);
});

test('an answer is rated, the rating survives, and is taken back; its source is a click away', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, scripted({ text: 'Some **words**.' }));
  await finished(page);
  const up = page.locator('.turn.last [data-act=thumbs-up]'), down = page.locator('.turn.last [data-act=thumbs-down]');
  const pressed = async (a, b) => page.waitForFunction(([a, b]) => document.querySelector('.turn.last [data-act=thumbs-up]').getAttribute('aria-pressed') === a && document.querySelector('.turn.last [data-act=thumbs-down]').getAttribute('aria-pressed') === b, [a, b]);
  await page.click('.turn.last [data-act=more]');
  await up.focus();
  await page.keyboard.press('Enter');
  await pressed('true', 'false');
  assert.equal(await page.evaluate(() => document.activeElement.dataset.act), 'thumbs-up', 'the focus stays');
  const [run] = await fetch(`${fawn.base}/threads/${id}/runs`).then((r) => r.json());
  const stats = () => fetch(`${fawn.base}/api/threads/${id}/runs/${run.run_id}/feedback/stats`).then((r) => r.json());
  assert.equal((await stats()).positive, 1);
  await page.reload();
  await pressed('true', 'false');
  await page.click('.turn.last [data-act=more]');
  await down.click();
  await pressed('false', 'true');
  assert.deepEqual(await stats().then((s) => [s.total, s.negative]), [1, 1]);
  await down.click();
  await pressed('false', 'false');
  assert.equal((await stats()).total, 0);
  assert.equal(await fetch(fawn.base + await page.getAttribute('.turn.last [data-act=raw]', 'href')).then((r) => r.text()), 'Some **words**.');
  await page.focus('.turn.last [data-act=edit]');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.rewrite');
  assert.match(await page.innerText('.rewrite'), /Files and memory stay as they are/);
  clean(page);
  const plain = await open(browser, fawn.base, { javaScriptEnabled: false });
  await plain.goto(page.url().replace(/[?#].*/, ''));
  await plain.click('.turn.last [data-act=more]');
  await plain.click('.turn.last [data-act=thumbs-up]');
  await plain.waitForSelector('.turn.last [data-act=thumbs-up][aria-pressed=true]', { state: 'attached' });
  await plain.context().close();
});
