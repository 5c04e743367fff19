// The list of chats beside the page: dots that every tab agrees on, what starts by itself
// later, and the menu of a row.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, newChat, open, shot } from './browser.mjs';
import { chromium, held, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const api = async (path, body) => {
  const res = await fetch(fawn.base + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  assert.equal(res.status, 200, path);
  return res.json();
};
const say = (text) => ({ assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: text }] }, if_not_exists: 'create' });
const run = (thread, text, more = {}) => api(`/threads/${thread}/runs`, { ...say(text), ...more });
// ended waits for runs: while one works the list comes anew, with the row whose menu is open.
const ended = async (...ids) => {
  for (const id of ids) await until(id + ' has ended', async () => (await (await fetch(`${fawn.base}/threads/${id}`)).json()).status === 'idle');
};
const dot = (page, thread) => page.evaluate((id) => document.querySelector(`#tl-${id} .dot`)?.getAttribute('aria-label') ?? '', thread);
const dots = (page, thread, want) => until(`${thread} is ${want || 'read'}`, async () => (await dot(page, thread)) === want);
const front = (page) => page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));

test('a dot says what became of a chat until somebody reads it; tabs and restarts agree', { skip }, async () => {
  await run('works', held('works', 3));
  await run('asks', scripted({ tool_calls: [{ name: 'ask_clarification', args: { question: 'Which town?', clarification_type: 'missing_info' } }] }));
  await run('fails', scripted({ error: { status: 401, message: 'no' } }));
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await dots(page, 'works', 'running');
  await front(page);
  await dots(page, 'asks', 'waiting for you');
  await until('the failure is in the list', async () => { await front(page); return (await dot(page, 'fails')) === 'failed'; });
  // While a chat works, the list follows it by itself.
  const other = await page.tab();
  await other.goto(fawn.base + '/workspace/settings/about');
  await dots(other, 'works', 'running');
  await fawn.script.open('works');
  await dots(page, 'works', 'finished, unread');
  await dots(other, 'works', 'finished, unread');
  await shot(page, 'list-dots');
  await fawn.kill();
  await fawn.restart();
  await page.reload();
  await dots(page, 'works', 'finished, unread');
  await page.click('#tl-works');
  await page.waitForSelector('article.turn');
  assert.equal(await dot(page, 'works'), '');
  await page.click('#tl-fails');
  await page.waitForSelector('.card.failed');
  assert.equal(await dot(page, 'fails'), '');
  await front(other);
  await dots(other, 'works', '');
  await dots(other, 'fails', '');
  assert.equal(await dot(other, 'asks'), 'waiting for you');
  await page.context().close(); // the restart broke requests off, so its console is not clean
});

test('a run of the chat on screen leaves nothing to be read', { skip }, async () => {
  const page = await open(browser, fawn.base), other = await page.tab();
  const id = await ask(page, fawn.base, scripted({ text: 'All of it.' }));
  await finished(page);
  assert.equal(await dot(page, id), '');
  // The page tells that it was seen, which may come a moment after the other one is made.
  await until('nothing is left', async () => { await other.goto(fawn.base + newChat); return await dot(other, id) === ''; });
  clean(page, other);
  await page.context().close();
});

test('the menu of a row renames in place, pins, shares and deletes without leaving the page', { skip }, async () => {
  await run('row-a', scripted({ text: 'A.' }));
  await run('row-b', scripted({ text: 'B.' }));
  await ended('row-a', 'row-b');
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + '/workspace/chats/row-a');
  const menu = async () => {
    await page.hover('#tl-row-b');
    await page.click('#tm-row-b');
    await page.waitForSelector('.menu:popover-open');
  };
  await menu();
  await shot(page, 'row-menu');
  const box = await page.locator('.menu:popover-open').boundingBox();
  assert.ok(box.x >= 0 && box.y >= 0 && box.y + box.height <= 900, JSON.stringify(box));
  const title = await page.title();
  await page.locator('.menu:popover-open').getByLabel('Title').fill('A name of my own');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#tl-row-b').innerText.trim() === 'A name of my own');
  assert.equal(await page.title(), title);
  const focus = () => page.waitForFunction(() => document.activeElement.id === 'tm-row-b'); // it comes back when the menu says that it is closed
  await focus();
  await menu();
  await page.keyboard.press('Escape');
  await page.waitForSelector('.menu:popover-open', { state: 'detached' });
  await focus();
  await page.keyboard.press('Enter'); // a link of the keyboard, too
  await page.waitForSelector('.menu:popover-open');
  await page.getByRole('link', { name: 'Share' }).last().click();
  await page.getByRole('dialog').getByText('Share “A name of my own”').waitFor();
  await page.keyboard.press('Escape');
  await menu();
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Pin to the top' }).last().click()]);
  assert.match(page.url(), /row-a$/);
  await page.waitForSelector('[aria-label="Pinned"] #tl-row-b');
  await menu();
  await page.getByRole('link', { name: 'Delete' }).last().click();
  await Promise.all([page.waitForEvent('load'), page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()]);
  assert.match(page.url(), /row-a\?undo=/);
  assert.equal(await page.locator('#tl-row-b').count(), 0);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.waitForSelector('#tl-row-b');
  clean(page);
  await page.context().close();
});

test('on a phone the menu opens in the sheet; without JavaScript it is a page', { skip }, async () => {
  await run('row-c', scripted({ text: 'C.' }));
  await ended('row-c');
  const phone = await open(browser, fawn.base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await phone.goto(fawn.base + newChat);
  await phone.getByRole('link', { name: 'Open menu' }).tap();
  await phone.tap('#tm-row-c');
  await phone.waitForSelector('.menu:popover-open');
  await shot(phone, 'row-menu-phone');
  clean(phone);
  await phone.context().close();
  const page = await open(browser, fawn.base, { javaScriptEnabled: false });
  await page.goto(fawn.base + newChat);
  await page.click('#tm-row-c', { force: true });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByLabel('Title').fill('Named without script');
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.waitForURL(/chats\/row-c$/);
  assert.equal((await page.innerText('#title')).trim(), 'Named without script');
  await page.context().close();
});
