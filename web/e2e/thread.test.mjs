// What must never go wrong with a conversation: nothing is lost by a reload, a
// second tab, a stop or a crash, and it works without JavaScript.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answer, answerHTML, ask, atLeast, clean, count, finished, launch, newChat, open, send } from './browser.mjs';
import { chromium, lacks, scripted, start, until, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ shared: true }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

test('a message is answered in place, and a second one follows it', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, words(30));
  await finished(page);
  assert.equal(count(await answer(page)), 30);
  await send(page, words(12));
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  assert.equal(count(await answer(page)), 12);
  assert.equal(page.url(), `${fawn.base}/workspace/chats/${id}`);
  assert.equal(await page.inputValue('#q'), '');
  clean(page);
});

test('a reload in the middle of an answer loses nothing', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, words(120, 40));
  await atLeast(page, 20);
  const fresh = await (await page.reload()).text();
  assert.ok(fresh.match(/\blorem\b/g)?.length >= 20, 'the page itself has the text so far');
  await finished(page);
  const live = await answerHTML(page);
  assert.equal(count(await answer(page)), 120);
  await page.reload();
  assert.equal(await answerHTML(page), live, 'streamed and reloaded are the same');
  clean(page);
});

test('a second tab follows live and both end equal', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, words(100, 40));
  await atLeast(page, 10);
  const other = await page.tab();
  await other.goto(page.url());
  await atLeast(other, 30);
  await other.bringToFront();
  await finished(other);
  await page.bringToFront();
  await finished(page);
  assert.equal(count(await answer(page)), 100);
  assert.equal(await answerHTML(page), await answerHTML(other));
  clean(page, other);
});

test('stop keeps what was said and gives the message box back', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, words(2000, 50));
  await atLeast(page, 15);
  await page.click('#send [data-stop]');
  await finished(page);
  const said = count(await answer(page));
  assert.ok(said >= 15 && said < 2000, `${said} words were kept`);
  await page.waitForSelector('article.turn.last .card.stopped');
  await send(page, words(5));
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  assert.equal(count(await answer(page)), 5);
  clean(page);
});

test('a failing model is told in plain words, and the thread goes on', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ error: { status: 401, message: 'Incorrect API key provided' } }));
  await finished(page);
  await page.waitForSelector('article.turn.last .card.failed');
  assert.match(await page.innerText('article.turn.last .card.failed'), /Incorrect API key provided/);
  await send(page, words(4));
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  assert.equal(count(await answer(page)), 4);
});

test('an answer that ended early says so, and is continued', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const half = 'The three regions grew, and the north';
  await ask(page, fawn.base, scripted({ text: half, finish: 'abort' }, { text: 'fell behind' }));
  await finished(page);
  const card = page.locator('article.turn.last .card.failed');
  assert.match(await card.innerText(), /The answer was cut off\s+The provider stopped the answer \(abort\)\./);
  assert.match(await answer(page), /the north/, 'what came is kept');
  assert.equal(await card.getByRole('button', { name: 'Try again' }).count(), 1);
  await card.getByRole('button', { name: 'Continue' }).click();
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2 || !document.querySelector('.card.failed'));
  await finished(page);
  assert.doesNotMatch(await page.locator('article.turn.last').innerText(), /cut off/);
  await ask(page, fawn.base, scripted({ text: half, finish: 'length' }));
  await finished(page);
  assert.match(await page.innerText('article.turn.last .card.failed'), /reached its limit/);
  clean(page);
});

test('what a model writes cannot become code', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const evil = '<img src=x onerror=alert(1)> <script>alert(2)</script> [click](javascript:alert(3)) **fine** <style>body{display:none}</style>';
  await page.exposeFunction('hacked', () => page.wrong.push('script ran'));
  page.on('dialog', (d) => { page.wrong.push('dialog ' + d.message()); d.dismiss(); });
  await ask(page, fawn.base, scripted({ text: evil }));
  await finished(page);
  for (let i = 0; i < 2; i++) {
    assert.equal(await page.locator('article.turn.last .ans strong').innerText(), 'fine');
    assert.equal(await page.locator('.ans script, .ans img[onerror], .ans style, .ans a[href^="javascript:"]').count(), 0);
    await page.reload();
  }
  clean(page);
});

test('a page that lost the server finds it again by itself', { skip }, async () => {
  const own = await start();
  try {
    const page = await open(browser, own.base);
    await ask(page, own.base, words(300, 50));
    await atLeast(page, 20);
    await own.kill();
    await own.restart();
    await finished(page);
    const live = await page.innerText('#turns');
    await page.reload();
    assert.equal(await page.innerText('#turns'), live);
  } finally {
    await own.stop();
  }
});

test('without JavaScript one can ask and read the answer', { skip }, async () => {
  const page = await open(browser, fawn.base, { javaScriptEnabled: false });
  await page.goto(fawn.base + newChat);
  await page.fill('#q', words(20));
  await page.click('#send button');
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await until('the answer is on the page', async () => {
    await page.reload();
    return (await page.locator('article.turn.last .ans').innerText()).includes('lorem');
  });
  await until('the answer is whole', async () => {
    await page.reload();
    return count(await page.locator('article.turn.last .ans').innerText()) === 20;
  });
  assert.match(await page.innerText('article.turn .you'), /echo 20 tokens/);
});
