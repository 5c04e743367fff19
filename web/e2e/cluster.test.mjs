// Three servers share a PostgreSQL, and each request goes to the next of them: a chat works as with one,
// also while servers go away. make nightly-e2e runs the suites of the SDKs in the same way (servers.mjs).
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answer, answerHTML, ask, atLeast, clean, count, finished, launch, newChat, open, send } from './browser.mjs';
import { hasPostgres } from './cluster.mjs';
import { chromium, lacks, scripted, start, until, words } from './harness.mjs';

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

test('stop reaches the server that writes', { skip }, async () => {
  for (let i = 0; i < 3; i++) {
    const page = await open(browser, fawn.base);
    await ask(page, fawn.base, words(2000, 50));
    await atLeast(page, 10);
    for (let j = 0; j < i; j++) await fetch(fawn.base + '/ok'); // so that it is another one's turn
    await page.click('#send [data-stop]');
    await finished(page);
    await page.waitForSelector('article.turn.last .card.stopped');
    const said = count(await answer(page));
    assert.ok(said >= 10 && said < 2000, `${said} words were kept`);
    clean(page);
    await page.context().close();
  }
});

test('a file that one server takes is there for all, and for the run', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.setInputFiles('#pick', { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('hello there') });
  await page.waitForSelector('#chips li[data-name="note.txt"]:not(:has(progress))');
  await send(page, scripted({ tool_calls: [{ name: 'read_file', args: { description: 'Read it', path: '/mnt/user-data/uploads/note.txt' } },
    { name: 'write_file', args: { description: 'Write', path: '/mnt/user-data/outputs/answer.txt', content: 'general kenobi' } }] }, { text: 'Read.' }));
  await page.waitForURL(/\/workspace\/chats\/(?!new)[\w-]+(\?|$)/);
  await page.waitForSelector('article.turn.last .ans >> text=Read.');
  await finished(page);
  const id = new URL(page.url()).pathname.split('/').pop();
  for (const s of fawn.servers) {
    const file = (path) => fetch(`${s.base}/api/threads/${id}/artifacts/mnt/user-data/${path}`).then((r) => r.text());
    assert.equal(await file('uploads/note.txt'), 'hello there');
    assert.equal(await file('outputs/answer.txt'), 'general kenobi');
    const { values } = await fetch(`${s.base}/threads/${id}/state`).then((r) => r.json());
    assert.match(JSON.stringify(values.messages), /hello there/);
  }
  clean(page);
  await page.context().close();
});

test('a chat that is deleted is gone everywhere, and can be had back', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, words(3));
  await finished(page);
  const statuses = () => Promise.all(fawn.servers.map((s) => fetch(`${s.base}/threads/${id}`).then((r) => r.status)));
  await page.click('[popovertarget="thread-menu"]');
  await page.click('[data-dialog="thread-menu-del"]');
  await page.click('dialog[open] .btn.rose');
  await page.waitForURL((u) => u.pathname === newChat);
  await page.getByRole('button', { name: 'Undo' }).hover(); // while somebody looks at it, it stays
  assert.deepEqual(await statuses(), [404, 404, 404]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.waitForSelector('#tl-' + id);
  assert.deepEqual(await statuses(), [200, 200, 200]);
  clean(page);
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
