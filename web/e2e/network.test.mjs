// Bad networks, many tabs, ways back and forth: whatever happens, all pages of
// a thread end equal, and say what is going on meanwhile.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { answer, answerHTML, ask, atLeast, clean, count, finished, launch, newChat, open } from './browser.mjs';
import { chromium, held, lacks, relay, scripted, start, until, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const prose = ('Some **bold** words and a [link](https://example.org/).\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n').repeat(12);
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ config: 'server: {hosts: [fawn.lan]}\n' }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const equalsFresh = async (page) => {
  const live = await answerHTML(page);
  await page.reload();
  assert.equal(await answerHTML(page), live);
};

test('a connection that is cut again and again loses nothing', { skip }, async (t) => {
  const net = await relay(fawn.base);
  t.after(net.stop);
  net.cut = 700;
  const page = await open(browser, net.base);
  await ask(page, net.base, scripted({ text: prose, rate: 60, gate: 'cut', tokens: 20 }));
  await until('it was cut often', () => net.streams > 4);
  await fawn.script.open('cut');
  await finished(page);
  t.diagnostic(`${net.streams} streams`);
  await equalsFresh(page);
  clean(page);
  await page.context().close();
});

test('a page whose first streams fail recovers by itself', { skip }, async (t) => {
  const net = await relay(fawn.base);
  t.after(net.stop);
  net.refuse = ['reset', 503, 'reset'];
  const page = await open(browser, net.base);
  await ask(page, net.base, words(150, 40));
  await finished(page);
  assert.ok(net.streams >= 4);
  assert.equal(count(await answer(page)), 150);
  await equalsFresh(page);
  await page.context().close();
});

test('a lost connection is told, and so is its return', { skip }, async (t) => {
  const net = await relay(fawn.base);
  t.after(net.stop);
  const page = await open(browser, net.base);
  await ask(page, net.base, held('lost', 20, 430));
  await atLeast(page, 20);
  // That it is good again is told for a moment only.
  await page.evaluate(() => {
    const b = document.querySelector('#banner');
    new MutationObserver(() => { if (!b.hidden && b.classList.contains('good')) window.back = b.innerText; }).observe(b, { attributes: true, childList: true });
  });
  net.down = true;
  net.drop();
  await page.waitForSelector('#banner:not([hidden])');
  assert.match(await page.innerText('#banner'), /lost/i);
  assert.ok(count(await answer(page)) >= 20, 'the text stays');
  net.down = false;
  await page.waitForFunction(() => window.back);
  await page.waitForSelector('#banner', { state: 'hidden' });
  await fawn.script.open('lost');
  await finished(page);
  assert.equal(count(await answer(page)), 450);
  await page.context().close();
});

test('a server that is silent is left after thirty seconds, and the page goes on', { skip }, async (t) => {
  const net = await relay(fawn.base);
  t.after(net.stop);
  const page = await open(browser, net.base);
  await page.clock.install();
  await ask(page, net.base, held('silent', 20, 30));
  await atLeast(page, 20);
  const before = net.streams;
  net.mute(); // as a connection to a machine that stands still
  await fawn.script.open('silent');
  await page.clock.fastForward(25_000);
  assert.equal(net.streams, before, 'three beats may be missing');
  await page.clock.fastForward(10_000);
  await until('the page has come back', () => net.streams > before);
  await finished(page);
  assert.equal(count(await answer(page)), 50);
  await page.context().close();
});

test('that the disk is waited for is told, in the reader\'s language, until it is back', { skip: skip || (process.env.FAWN_TEST_PG && 'the rows are elsewhere') }, async (t) => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, held('disk', 20, 30));
  await atLeast(page, 20);
  // Another program has the database for itself, which the server waits for like a disk.
  const other = spawn('python3', ['-c', `import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
c.execute('BEGIN IMMEDIATE')
print('held', flush=True)
sys.stdin.read()
c.execute('ROLLBACK')`, join(fawn.data, 'fawn.db')]);
  t.after(() => other.kill());
  await once(other.stdout, 'data');
  await fawn.script.open('disk');
  await page.waitForSelector('#banner:not([hidden])');
  assert.match(await page.innerText('#banner'), /^Waiting for the disk/);
  other.stdin.end();
  await page.waitForSelector('#banner', { state: 'hidden' });
  await finished(page);
  assert.equal(count(await answer(page)), 50);
  clean(page);
  await page.context().close();
});

test('what a reloaded page has, its stream does not send again', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, held('not-again', 1000, 2));
  await atLeast(page, 1000);
  const html = await fetch(`${fawn.base}/workspace/chats/${id}`).then((r) => r.text());
  const [, cursor] = html.match(/data-cursor="([^"]+)"/);
  assert.ok((html.match(/lorem/g) ?? []).length >= 2000, 'the question and the text so far are in the page');
  const res = await fetch(`${fawn.base}/ui/threads/${id}/stream?v=${cursor}`);
  await fawn.script.open('not-again');
  const rest = await res.text();
  assert.match(rest, /event: done/);
  const again = (rest.match(/lorem /g) ?? []).length;
  assert.ok(again < 100, `${again} words`);
  await finished(page);
  await page.context().close();
});

test('three tabs that came at different times end equal, and a stop in one stops all', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, words(5000, 80));
  const tabs = [page];
  for (const n of [30, 120]) {
    await atLeast(page, n);
    const tab = await page.tab();
    await tab.goto(page.url());
    tabs.push(tab);
  }
  await atLeast(tabs[2], 150);
  await tabs[1].bringToFront();
  await tabs[1].click('#send [data-stop]');
  for (const tab of tabs) {
    await tab.bringToFront();
    await finished(tab);
    assert.equal(await tab.locator('.card.stopped').count(), 1);
    assert.equal(await answerHTML(tab), await answerHTML(page));
  }
  clean(...tabs);
  await page.context().close();
});

test('away and back in the middle of a run ends equal', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, words(200, 50));
  await atLeast(page, 20);
  const url = page.url();
  await page.goto(fawn.base + '/workspace/chats');
  await page.goBack();
  assert.equal(page.url(), url);
  await atLeast(page, 40);
  await page.goForward();
  await page.waitForSelector('.lrow');
  await page.goBack();
  await finished(page);
  assert.equal(count(await answer(page)), 200);
  await equalsFresh(page);
  clean(page);
  await page.context().close();
});

test('a server that stopped during the run says so after its return', { skip }, async () => {
  const own = await start();
  try {
    const page = await open(browser, own.base);
    await ask(page, own.base, words(600, 50));
    await atLeast(page, 30);
    await own.kill();
    await page.waitForSelector('#banner:not([hidden])');
    await own.restart();
    await finished(page);
    assert.equal(await page.locator('#banner:not([hidden]):not(.good)').count(), 0);
    const words_ = count(await page.innerText('#turns'));
    assert.ok(words_ >= 30);
    if (await page.locator('.card.failed').count()) { // marked as broken off: it says so, and can be tried again
      assert.match(await page.innerText('.card.failed'), /stopped during the run/);
      assert.equal(await page.locator('.card.failed form[data-send] button').count(), 1);
    }
  } finally {
    await own.stop();
  }
});

test('a run that a crash broke off says so, and can be taken up again', { skip }, async () => {
  const own = await start({ config: 'runs: {resume: mark}\n' });
  try {
    const page = await open(browser, own.base);
    const id = await ask(page, own.base, scripted({ text: 'The beginning. ' + 'lorem '.repeat(20), gate: 'never', tokens: 5 }, { text: 'And the rest.' }));
    await atLeast(page, 20);
    await own.kill();
    await page.waitForSelector('#banner:not([hidden])');
    await own.restart();
    await page.waitForSelector('.card.failed');
    await page.waitForSelector('#banner', { state: 'hidden' });
    assert.match(await page.innerText('#turns'), /The beginning\./);
    assert.match(await page.innerText('.card.failed'), /stopped during the run/);
    const fresh = await page.tab();
    await fresh.goto(`${own.base}/workspace/chats/${id}`);
    assert.match(await fresh.innerText('.card.failed'), /stopped during the run/);
    await page.bringToFront();
    await page.click('.card.failed form[data-send] button');
    await page.waitForSelector('article.turn.last .ans >> text=And the rest.');
    await finished(page);
    assert.equal(await page.locator('.card.failed').count(), 0);
    assert.match(await page.innerText('#turns'), /The beginning\./);
    await fresh.close();
    await page.context().close();
  } finally {
    await own.stop();
  }
});

test('ten tabs follow running threads, and an eleventh page opens all the same', { skip }, async (t) => {
  const page = await open(browser, fawn.base);
  await page.context().addInitScript(() => {
    window.away = false;
    Object.defineProperty(Document.prototype, 'hidden', { get: () => window.away });
  });
  // What a browser does to a tab that is not in front; here all are.
  const show = (tab, yes) => tab.evaluate((yes) => { window.away = !yes; document.dispatchEvent(new Event('visibilitychange')); }, yes);
  const tabs = [];
  for (let i = 0; i < 10; i++) {
    const tab = await page.tab();
    await ask(tab, fawn.base, words(20_000, 20));
    await atLeast(tab, 2);
    await show(tab, false);
    tabs.push(tab);
  }
  const times = [];
  for (let i = 0; i < 3; i++) {
    const from = performance.now();
    await page.goto(fawn.base + newChat, { waitUntil: 'load' });
    times.push(performance.now() - from);
  }
  t.diagnostic(`${times.map(Math.round)} ms`);
  assert.ok(Math.min(...times) < 30_000);
  for (const tab of tabs) {
    const n = count(await answer(tab));
    await show(tab, true);
    await atLeast(tab, n + 1);
    await tab.click('#send [data-stop]');
    await finished(tab);
    await tab.close();
  }
  clean(page, ...tabs);
  await page.context().close();
});

test('under a host name of the network, where browsers withhold what is for secure pages, all works', { skip }, async () => {
  const base = fawn.base.replace('127.0.0.1', 'fawn.lan');
  const other = await launch({ args: ['--host-resolver-rules=MAP fawn.lan 127.0.0.1'] });
  try {
    const page = await open(other, base);
    await page.goto(base + newChat);
    assert.equal(await page.evaluate(() => isSecureContext), false);
    await page.setInputFiles('#pick', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') });
    await page.waitForSelector('#chips li:not(:has(progress))');
    await page.fill('#q', scripted({ text: 'Take this:\n\n```go\nfunc main() {}\n```\n', rate: 50 }));
    await page.press('#q', 'Enter');
    await page.waitForURL(/\/workspace\/chats\/(?!new)/);
    await finished(page);
    await page.click('.cb [data-copy]');
    await page.waitForFunction(() => document.querySelector('#say').textContent === 'Copied');
    await page.focus('#q');
    await page.keyboard.press('Control+V');
    assert.equal(await page.inputValue('#q'), 'func main() {}\n');
    clean(page);
    const evil = await fetch(fawn.base + newChat, { headers: { Host: 'evil.example' } }).then((r) => r.status);
    assert.ok([200, 421].includes(evil)); // fetch may not let the header through
  } finally {
    await other.close();
  }
});
