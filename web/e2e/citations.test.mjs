// Documents in the browser: a PDF is dropped, an answer cites a page of it, and the
// citation opens that page.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, finished, launch, newChat, open, send } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const path = '/mnt/user-data/uploads/report.pdf';
let fawn, browser, pdf;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch({ whole: true })]);
  const page = await browser.newPage();
  page.setDefaultTimeout(90_000);
  const pages = Array.from({ length: 9 }, (_, i) => `<section style="break-after:page"><h1>Part ${i + 1}</h1>
    <p>The lighthouse number ${i + 1} was built by the harbour office in the year ${1900 + i}.</p></section>`);
  await page.setContent(pages.join(''));
  pdf = await page.pdf({ format: 'A5' });
  await page.close();
});
after(async () => { await browser?.close(); await fawn?.stop(); });

// drop starts a chat with the PDF and a message.
const drop = async (page, base, text) => {
  await page.goto(base + newChat);
  await page.setInputFiles('#pick', { name: 'report.pdf', mimeType: 'application/pdf', buffer: pdf });
  await page.waitForSelector('#chips li[data-name="report.pdf"]:not(:has(progress))');
  await send(page, text);
  await page.waitForURL(/\/workspace\/chats\/(?!new)[\w-]+(\?|$)/);
  await page.waitForSelector('article.turn');
  await finished(page);
};

// follow clicks the citation and returns what the panel shows.
const follow = async (page) => {
  const cite = page.locator('article.turn.last .ans a.cite', { hasText: 'report.pdf, p. 7' }).first();
  await cite.click();
  await page.waitForSelector('#panel iframe');
  await page.waitForURL(/[?&]at=page-7/);
  return page.getAttribute('#panel iframe', 'src');
};

test('a question about page 7 is answered from it, and the citation opens it', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await drop(page, fawn.base, scripted({ tool_calls: [{ name: 'read_file', args: { path, page: 7 } }] },
    { text: 'In 1906, by the harbour office [report.pdf, p. 7]. Not [gone.pdf, p. 7].' }));
  const seen = (await fawn.script.requests()).findLast((r) => JSON.stringify(r.body).includes('lighthouse number 7'));
  const read = JSON.stringify(seen);
  assert.match(read, /<!-- page 7 -->|u003c!-- page 7 --/, 'the model reads page 7');
  assert.match(read, /lighthouse number 7/);
  assert.doesNotMatch(read, /lighthouse number 8/);
  assert.equal(await page.locator('article.turn.last .ans a.cite').count(), 1);
  assert.match(await follow(page), /report\.pdf#page=7$/);
  await page.reload();
  await page.waitForSelector('#panel iframe');
  assert.match(await page.getAttribute('#panel iframe', 'src'), /report\.pdf#page=7$/);
  clean(page);
});
