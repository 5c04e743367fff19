// The main job, without any model configured: drop a table, ask for an analysis,
// and get a report and a chart with the right numbers.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { answer, clean, count, finished, launch, newChat, open, send } from './browser.mjs';
import { chromium, lacks, start, startModel, until, words } from './harness.mjs';
import { figures, makeOrders, tally, tells, toCSV } from './table.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const orders = makeOrders(10_000);
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ model: false }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

test('a table of 10,000 rows becomes a report and a chart with the right numbers', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.setInputFiles('#pick', { name: 'orders.csv', mimeType: 'text/csv', buffer: Buffer.from(toCSV(orders)) });
  await page.waitForSelector('#chips li[data-name="orders.csv"]:not(:has(progress))');
  assert.equal(await page.locator('#chips li.rose').count(), 0);
  await send(page, 'Analyse this');
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await finished(page);

  assert.equal(await page.locator('article.turn.failed, article.turn .card.failed').count(), 0);
  assert.match(await page.innerText('article.turn .mine'), /orders\.csv/);
  assert.ok(await page.locator('article.turn .steps > li').count() >= 2, 'the trail shows what was done');

  const cards = await page.locator('article.turn .cards .file a[download]').evaluateAll((list) => list.map((a) => a.href));
  const report = cards.find((u) => /\.(md|html)(\?|$)/.test(u)), chart = cards.find((u) => /\.(svg|png)(\?|$)/.test(u));
  assert.ok(report, `a report is among ${cards}`);
  assert.ok(chart, `a chart is among ${cards}`);
  const image = await fetch(chart);
  assert.equal(image.status, 200);
  assert.ok((await image.arrayBuffer()).byteLength > 500, 'the chart is more than an empty frame');

  const text = await fetch(report).then((r) => r.text()) + '\n' + await page.innerText('article.turn .ans');
  assert.ok(tells(text, 10_000), 'the number of rows');
  for (const column of ['units', 'unit_price', 'revenue']) {
    const want = figures(orders, column);
    for (const name of ['mean', 'median', 'min', 'max']) {
      assert.ok(tells(text, want[name]), `${name} of ${column} is ${want[name]}`);
    }
  }
  const [region, n] = tally(orders, 'region')[0];
  assert.ok(text.includes(region) && tells(text, n), `${region} is most frequent, ${n} times`);

  await page.locator('article.turn .cards .file a.open').first().click();
  await page.waitForSelector('#panel:not([hidden]) h2');
  clean(page);
});

test('the report survives a reload and a restart', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + '/workspace/chats');
  await page.locator('.lrow a').first().click();
  await page.waitForURL(/\/workspace\/chats\/./); // until then parts of it may be missing
  await page.waitForSelector('article.turn .cards .file');
  const before = await page.innerText('#turns');
  await fawn.kill();
  await fawn.restart();
  await page.reload();
  assert.equal(await page.innerText('#turns'), before);
  const link = await page.locator('article.turn .cards .file a[download]').first().getAttribute('href');
  assert.equal((await fetch(fawn.base + link)).status, 200);
});

test('a model written into the file that the card names is used without a restart', { skip }, async () => {
  const own = await start({ model: false });
  const model = await startModel(own.dir);
  try {
    const page = await open(browser, own.base);
    await page.goto(own.base + newChat);
    const file = await page.innerText('.first .path');
    assert.equal(file, join(own.dir, 'config.yaml'));
    assert.match(await page.innerText('.first'), /isn’t an AI/);
    writeFileSync(file, `models:\n  - {name: my-model, use: "langchain_openai:ChatOpenAI", model: script, base_url: "${model.url}/v1", api_key: test}\n`);
    await until('the card is gone', async () => { await page.reload(); return !(await page.locator('.first').count()); });
    await send(page, words(7));
    await page.waitForURL(/\/workspace\/chats\/(?!new)/);
    await finished(page);
    assert.equal(count(await answer(page)), 7);
    assert.match(await page.innerText('.turn.last .end .acts'), /my-model/);
    clean(page);
  } finally {
    await model.stop();
    await own.stop();
  }
});

test('a file over the limit is refused by name before it is sent', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  const max = Number(await page.getAttribute('#compose', 'data-max-file'));
  assert.ok(max > 0, 'the page knows the limit');
  await page.evaluate((size) => {
    const data = new DataTransfer();
    data.items.add(new File([new Blob([new Uint8Array(1024)])], 'small.txt'));
    const big = new File([], 'big.bin');
    Object.defineProperty(big, 'size', { value: size });
    const pick = document.querySelector('#pick');
    Object.defineProperty(pick, 'files', { value: [big], configurable: true });
    pick.dispatchEvent(new Event('change', { bubbles: true }));
  }, max + 1);
  await page.waitForFunction(() => /big\.bin/.test(document.querySelector('#chips')?.innerText + document.querySelector('#problem')?.innerText));
  assert.equal(await page.locator('#chips li:not(.rose)').count(), 0);
});
