// Commands of the message box: a slash opens their list, which needs no mouse.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, newChat, open, shot } from './browser.mjs';
import { chromium, lacks, start, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const skills = ['charts', 'code-documentation', 'code-review', 'consulting-analysis', 'data-analysis', 'deep-research', 'documents', 'image-prompts', 'literature-review', 'newsletter', 'paper-review', 'podcast', 'repository-research', 'skill-creator', 'slides', 'spreadsheets', 'video-prompts', 'web-page-builder'].map((s) => '/' + s);
const list = (page) => page.locator('#slash:popover-open [role=option]:visible b');
const offered = async (page, want) => {
  await page.waitForFunction((want) => JSON.stringify([...document.querySelectorAll('#slash:popover-open [role=option]:not([hidden]) b')].map((b) => b.textContent)) === want, JSON.stringify(want));
};
const closed = (page) => page.waitForFunction(() => !document.querySelector('#slash')?.matches(':popover-open'));

test('a slash opens the list, typing filters it, and keys pick', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const early = [];
  page.on('request', (r) => { if (/slash\.js|commands/.test(r.url())) early.push(r.url()); });
  await page.goto(fawn.base + newChat);
  await page.focus('#q');
  await page.keyboard.type('a /');
  assert.deepEqual(early, [], 'loaded with the first slash at the beginning, not before');
  await page.fill('#q', '');
  await page.keyboard.type('/');
  await offered(page, ['/goal', ...skills]);
  for (const [name, colorScheme, width] of [['light', 'light', 1280], ['dark', 'dark', 1280], ['narrow', 'light', 390]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await shot(page, 'slash-' + name);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is too wide');
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.fill('#q', '/compact');
  await closed(page);
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /Nothing to compact/.test(document.querySelector('#problem')?.textContent));
  await ask(page, fawn.base, words(5));
  await finished(page);
  await page.focus('#q');
  await page.keyboard.type('/');
  await offered(page, ['/compact', '/goal', '/new', ...skills]);
  const active = () => page.evaluate(() => document.getElementById(document.querySelector('#q').getAttribute('aria-activedescendant')).dataset.text);
  assert.equal(await active(), '/compact');
  await page.keyboard.press('ArrowUp');
  assert.equal(await active(), '/web-page-builder ');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  assert.equal(await active(), '/goal ');
  await page.keyboard.press('Tab');
  assert.equal(await page.inputValue('#q'), '/goal ');
  await closed(page);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
  await page.fill('#q', '');
  await page.keyboard.type('/n');
  await offered(page, ['/new', '/newsletter']);
  await page.keyboard.press('Escape');
  await closed(page);
  await page.keyboard.type('e');
  await closed(page);
  assert.equal(await page.inputValue('#q'), '/ne');
  await page.fill('#q', '');
  await page.keyboard.type('/co');
  await offered(page, ['/compact', '/code-documentation', '/code-review', '/consulting-analysis']);
  await list(page).first().click();
  assert.equal(await page.inputValue('#q'), '/compact');
  await closed(page);
  clean(page);
});

test('a command that is sent is carried out and is no message', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, words(20));
  await finished(page);
  await page.focus('#q');
  await page.keyboard.type('/comp');
  await offered(page, ['/compact']);
  await page.keyboard.press('Enter');
  await closed(page);
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /Nothing to compact/.test(document.querySelector('.toast')?.innerText)); // for a moment only
  assert.equal(await page.locator('article.turn').count(), 1);
  assert.equal(await page.inputValue('#q'), '');
  await page.keyboard.type('/new Moss & ferns');
  await page.keyboard.press('Enter');
  await page.waitForURL((u) => u.pathname === newChat);
  assert.equal(await page.inputValue('#q'), 'Moss & ferns');
  await page.goto(`${fawn.base}/workspace/chats/${id}`);
  await page.fill('#q', '/goal Count to three');
  await page.press('#q', 'Enter');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  assert.equal((await fetch(`${fawn.base}/api/threads/${id}/goal`).then((r) => r.json())).goal?.objective ?? 'reached', 'Count to three');
  clean(page);
});
