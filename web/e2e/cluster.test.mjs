// Three servers share a PostgreSQL, and each request goes to the next of them: a chat works as with one,
// also while servers go away. make nightly-e2e runs the suites of the SDKs in the same way (servers.mjs).
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answer, answerHTML, ask, atLeast, clean, count, finished, launch, open, send } from './browser.mjs';
import { hasPostgres } from './cluster.mjs';
import { chromium, lacks, start, until, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium)) || lacks('PostgreSQL', hasPostgres());
let fawn, browser;

before(async () => {
  if (skip) return;
  fawn = await start({ servers: 3, lease: 15 });
  browser = await launch();
});
after(async () => { await browser?.close(); await fawn?.stop(); });

// worker is the server that a thread's run works at: it alone tells of one.
const worker = async (own) => {
  const live = await Promise.all(own.servers.map((s) => fetch(s.base + '/metrics').then((r) => r.text(), () => '')));
  return own.servers[live.findIndex((text) => /^fawn_runs\{state="active"\} [1-9]/m.test(text))];
};

test('a chat goes on from server to server, and streams from all of them', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const asked = [...fawn.proxy.asked];
  const id = await ask(page, fawn.base, words(100, 40));
  await atLeast(page, 20);
  const others = [await page.tab(), await page.tab()];
  for (const other of others) {
    await other.goto(page.url());
    await atLeast(other, 25);
  }
  await page.bringToFront();
  const fresh = await (await page.reload()).text();
  assert.ok(fresh.match(/\blorem\b/g)?.length >= 20, 'the page itself has the text so far');
  await finished(page);
  for (const other of others) {
    await other.bringToFront();
    await finished(other);
    assert.equal(await answerHTML(other), await answerHTML(page));
  }
  await page.bringToFront();
  assert.equal(count(await answer(page)), 100);
  await send(page, words(12));
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  assert.equal(count(await answer(page)), 12);
  for (const s of fawn.servers) {
    const { values } = await fetch(`${s.base}/threads/${id}/state`).then((r) => r.json());
    assert.equal(values.messages.length, 4);
  }
  assert.ok(fawn.proxy.asked.every((n, i) => n > asked[i]), `servers were asked ${fawn.proxy.asked} times`);
  clean(page, ...others);
  await page.context().close();
});

for (const [how, gone] of [['is killed', 'kill'], ['stops', 'leave']]) {
  test(`when the server ${how} that writes an answer, another one goes on, and the page with it`, { skip }, async () => {
    const page = await open(browser, fawn.base);
    await ask(page, fawn.base, words(800, 40)); // a busy machine takes its time to find who works
    await atLeast(page, 20);
    const server = await until('one of them works', () => worker(fawn));
    const left = server[gone](); // one that stops lets its run go on elsewhere, at the latest when it may wait no longer
    await finished(page);
    const live = await page.innerText('#turns');
    assert.ok(count(live) >= 800, `the answer has ${count(live)} words`);
    await page.reload();
    assert.equal(await page.innerText('#turns'), live);
    await left;
    await server.restart();
    await page.context().close();
  });
}
