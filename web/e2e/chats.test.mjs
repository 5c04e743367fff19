// The list of all chats: search by title and by what was said, paging without a
// jump, deleting several at once and having them back.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, launch, open, shot } from './browser.mjs';
import { chromium, lacks, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;
const all = '/workspace/chats';
const json = (method, path, body) => fetch(fawn.base + path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
const titles = (page) => page.locator('#list .nm').allInnerTexts();

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
  for (let i = 0; i < 130; i++) {
    const id = `many-${String(i).padStart(3, '0')}`;
    assert.equal((await json('POST', '/threads', { thread_id: id })).status, 200);
    assert.equal((await json('POST', `/threads/${id}/state`, { values: { title: `Chat number ${i}` } })).status, 200);
  }
  for (const [id, text] of [['pump', 'Should I buy a heat pump?'], ['poem', '写一首关于脚本的诗'], ['third', 'Say something.']]) {
    const body = { assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: text }] } };
    assert.equal((await json('POST', `/threads/${id}/runs/wait`, { ...body, if_not_exists: 'create' })).status, 200);
  }
});
after(async () => { await browser?.close(); await fawn?.stop(); });

test('search finds by title and by message while one types, and the page can be shared', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + all);
  const box = page.getByRole('searchbox');
  await box.pressSequentially('HEAT pump');
  await page.waitForFunction(() => location.search === '?q=HEAT%20pump' && document.querySelectorAll('#list .lrow').length === 1);
  assert.equal(await page.locator('#list .lrow > a').getAttribute('href').then((h) => h.startsWith('/workspace/chats/pump')), true);
  assert.equal(await box.evaluate((b) => document.activeElement === b), true);
  await box.fill('脚本');
  await page.waitForFunction(() => document.querySelector('#list .lrow > a')?.getAttribute('href').startsWith('/workspace/chats/poem'));
  await box.fill('nowhere to be found');
  await page.getByText('No results for “nowhere to be found”.').waitFor();
  await box.fill('number 77');
  await page.waitForFunction(() => location.search === '?q=number%2077' && document.querySelectorAll('#list .lrow').length === 1);
  assert.deepEqual(await titles(page), ['Chat number 77']);
  await page.reload();
  assert.deepEqual(await titles(page), ['Chat number 77']);
  clean(page);
  await page.context().close();
});

test('all chats come in as one scrolls, each once, and nothing jumps', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + all);
  await page.evaluate(() => { window.shift = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) if (!e.hadRecentInput) window.shift += e.value; }).observe({ type: 'layout-shift', buffered: true }); });
  await until('the end is reached', () => page.evaluate(() => {
    document.querySelector('#more')?.scrollIntoView();
    return !document.querySelector('#more');
  }));
  const ids = await page.locator('#list [name=thread]').evaluateAll((l) => l.map((e) => e.value));
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(ids.length, 133);
  assert.ok(await page.evaluate(() => window.shift) < 0.02);
  clean(page);
  await page.context().close();
});

test('chats that are deleted together can be had back', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(`${fawn.base}${all}?q=number+12`);
  const before = await titles(page);
  assert.equal(before.length, 12); // 12, 112 and 120 to 129
  const remove = page.getByRole('button', { name: 'Delete selected' });
  assert.equal(await remove.isVisible(), false);
  await page.getByLabel('Select all').check();
  await page.getByLabel('Select Chat number 12', { exact: true }).uncheck();
  await remove.click();
  await page.getByText('11 chats deleted').waitFor();
  await page.getByRole('button', { name: 'Undo' }).hover(); // while somebody looks at it, it stays
  await shot(page, 'chats-undo');
  assert.deepEqual(await titles(page), ['Chat number 12']);
  assert.equal((await fetch(fawn.base + '/threads/many-120')).status, 404);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.waitForFunction(() => document.querySelectorAll('#list .lrow').length === 12);
  assert.deepEqual(await titles(page), before);
  assert.equal((await fetch(fawn.base + '/threads/many-120')).status, 200);
  clean(page);
  await page.context().close();
});
