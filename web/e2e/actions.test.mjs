// What can be done with a message once it is there: by mouse and by
// keyboard.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answer, ask, clean, finished, launch, open, send, shot, violations } from './browser.mjs';
import { chromium, lacks, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ shared: true }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const say = (text) => 'SCRIPT' + JSON.stringify({ turns: [{ text }] });
const turns = (page, n) => page.waitForFunction((n) => document.querySelectorAll('article.turn').length === n, n);
const version = (page, text) => page.waitForFunction((t) => document.querySelector('.turn.last .versions .meta')?.innerText === t, text);

test('an answer is given again, and its former versions stay', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, say('First **words**.'));
  await finished(page);
  await send(page, say('Second.'));
  await turns(page, 2);
  await finished(page);
  await page.locator('.turn.last [data-act=regenerate]').focus();
  await page.keyboard.press('Enter');
  await version(page, '2 / 2');
  await finished(page);
  assert.equal(await page.locator('article.turn').count(), 2);
  assert.equal(await page.locator('.turn.last .versions button:disabled').count(), 1, 'there is nothing after the last');
  await page.click('.turn.last .versions button >> nth=0');
  await version(page, '1 / 2');
  assert.equal(await answer(page), 'Second.');
  await page.reload();
  await version(page, '1 / 2');
  assert.equal(await page.locator('.turn:not(.last) [data-act=regenerate]').count(), 0, 'only the last answer is given again');
  const state = await fetch(`${fawn.base}/threads/${id}/state`).then((r) => r.json());
  assert.equal(state.values.messages.length, 4, 'programs see the version on screen');
  clean(page);
});

test('a message is changed and sent again, and its tail is put aside', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, say('First.'));
  await finished(page);
  await send(page, say('Second.'));
  await turns(page, 2);
  await finished(page);
  await page.locator('.turn >> nth=0').locator('[data-act=edit]').click();
  const box = page.locator('.rewrite textarea');
  await box.waitFor();
  assert.equal(await box.inputValue(), say('First.'));
  await page.waitForFunction(() => document.activeElement.matches('.rewrite textarea'));
  await page.keyboard.press('Escape');
  await page.waitForSelector('.rewrite', { state: 'detached' });
  await page.waitForFunction(() => document.activeElement.dataset.act === 'edit');
  await page.keyboard.press('Enter');
  await box.fill('Over two lines');
  await box.press('Shift+Enter');
  await box.dispatchEvent('keydown', { key: 'Enter', isComposing: true });
  assert.equal(await box.inputValue(), 'Over two lines\n', 'Shift+Enter breaks the line, and no Enter sends a word that is being composed');
  assert.match(await page.innerText('.rewrite'), /Enter to send/);
  await shot(page, 'edit');
  await box.fill(say('Changed.'));
  await box.press('Enter');
  await turns(page, 1);
  await finished(page);
  assert.equal(await answer(page), 'Changed.');
  await version(page, '2 / 2');
  await page.click('.turn.last .versions button >> nth=0');
  await turns(page, 2);
  assert.equal(await answer(page), 'Second.');
  clean(page);
});

test('a branch is a chat of its own, and an export has what was said', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, say('First **words**.'));
  await finished(page);
  await send(page, say('Second.'));
  await turns(page, 2);
  await finished(page);
  for (const [kind, want] of [['md', /First \*\*words\*\*\.[^]*Second\./], ['json', /"First \*\*words\*\*\."/]]) {
    await page.click('[popovertarget="thread-menu"]');
    const [file] = await Promise.all([page.waitForEvent('download'), page.click(`#thread-menu a[href$="export.${kind}"]`)]);
    assert.match(file.suggestedFilename(), new RegExp('\\.' + kind + '$'));
    const text = await file.createReadStream().then(async (s) => { let all = ''; for await (const part of s) all += part; return all; });
    assert.match(text, want);
    await page.keyboard.press('Escape');
  }
  assert.deepEqual(await page.$$eval('.turn.last .end .acts :is(a, button)', (all) => all.filter((el) => el.checkVisibility()).map((el) => el.dataset.act ?? el.dataset.copy)),
    ['source', 'regenerate', 'more'], 'the rest is behind a button');
  await page.locator('.turn.last [data-act=more]').click();
  await page.waitForSelector('.turn.last .acts .menu [data-act=raw]');
  await shot(page, 'more');
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => document.activeElement.dataset.act), 'more', 'the focus is back on it');
  await page.locator('.turn >> nth=0').hover();
  await page.locator('.turn >> nth=0').locator('[data-act=more]').click();
  await page.locator('.turn >> nth=0').locator('[data-act=branch]').click();
  await page.waitForURL((u) => !u.pathname.endsWith(id));
  await turns(page, 1);
  assert.equal(await answer(page), 'First words.');
  await send(page, say('Elsewhere.'));
  await turns(page, 2);
  await finished(page);
  await page.goto(`${fawn.base}/workspace/chats/${id}`);
  assert.equal(await answer(page), 'Second.', 'the first chat is as it was');
  clean(page);
});
