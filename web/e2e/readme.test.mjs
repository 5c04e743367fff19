// The pictures of the README. They are made on demand, from what the pages really show:
// FAWN_README=1 node --test readme.test.mjs
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { finished, launch, newChat, open, send } from './browser.mjs';
import { Film } from './film.mjs';
import { chromium, here, lacks, start } from './harness.mjs';
import { makeSales, notes, toCSV } from './table.mjs';

const skip = lacks('Chromium', existsSync(chromium)) || (process.env.FAWN_README !== '1' && 'only with FAWN_README=1');
const img = join(here, '..', '..', 'docs', 'img');
const sales = { name: 'sales-2025.csv', mimeType: 'text/csv', buffer: Buffer.from(toCSV(makeSales())) };
let browser;

before(async () => {
  if (skip) return;
  mkdirSync(img, { recursive: true });
  browser = await launch();
});
after(() => browser?.close());

// fresh is a server without a model and without chats, for one test.
const fresh = async (t) => {
  const fawn = await start({ model: false });
  t.after(() => fawn.stop());
  return fawn;
};

const settled = async (page) => {
  await page.evaluate(() => document.fonts.ready);
  await page.waitForFunction(() => [...document.images].every((i) => i.complete));
};

const picture = async (page, name) => {
  await settled(page);
  await page.screenshot({ path: join(img, name) });
  assert.ok(statSync(join(img, name)).size <= 200_000, name);
};

const attach = async (page, file) => {
  await page.setInputFiles('#pick', file);
  await page.waitForSelector('#chips li:not(:has(progress))');
};

test('the film', { skip }, async (t) => {
  const fawn = await fresh(t);
  const page = await open(browser, fawn.base, { colorScheme: 'light', viewport: { width: 1280, height: 800 }, reducedMotion: 'no-preference' });
  const film = new Film(page);
  const type = async (text) => {
    await page.click('#q');
    for (const part of text.match(/\S+\s*/g)) {
      await page.locator('#q').pressSequentially(part);
      await film.frame(90);
    }
    await film.frame(400);
  };
  await page.goto(fawn.base + newChat);
  await settled(page);
  await film.frame(900);
  await attach(page, sales);
  await film.frame(700);
  await type('Analyse our sales of 2025');
  await page.press('#q', 'Enter');
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await film.until(finished(page), 160);
  await film.frame(1800);
  await page.locator('.cards .file a.open', { hasText: '.md' }).click();
  await page.waitForSelector('#panel img');
  await settled(page);
  await film.frame(2800);
  await type('run: cut -d, -f2 ../uploads/sales-2025.csv | sort | uniq -c | sort -rn');
  const turns = await page.locator('article.turn').count();
  await page.press('#q', 'Enter');
  await page.waitForFunction((n) => document.querySelectorAll('article.turn').length > n, turns);
  await film.until(finished(page), 160);
  await film.frame(3500);
  assert.ok(film.save(join(img, 'film.png')) <= 1_500_000);
});

test('the pictures', { skip }, async (t) => {
  const fawn = await fresh(t);
  const page = await open(browser, fawn.base, { colorScheme: 'light' });
  let summary;
  for (const [file, text] of [[{ name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from(notes) }, 'Summarise these notes'], [sales, 'Analyse our sales of 2025']]) {
    await page.goto(fawn.base + newChat);
    await attach(page, file);
    await send(page, text);
    await page.waitForURL(/\/workspace\/chats\/(?!new)/);
    await finished(page);
    summary ??= new URL(page.url()).pathname;
  }
  const url = page.url().split('?')[0];
  const report = await page.locator('.cards .file a.open', { hasText: '.md' }).getAttribute('data-push');
  await page.goto(fawn.base + report);
  await page.click('.turn.last .trail > summary');
  await page.evaluate(() => { document.activeElement.blur(); document.querySelector('#scroll').scrollTop = 0; });
  await page.mouse.move(0, 0);
  await picture(page, 'thread.png');
  const night = await open(browser, fawn.base, { colorScheme: 'dark', viewport: { width: 1280, height: 800 } });
  await night.goto(fawn.base + summary);
  await night.click('.turn.last .trail > summary');
  await night.keyboard.press('Control+k');
  await night.locator('#pal-q').pressSequentially('set');
  await night.waitForFunction(() => document.querySelector('#pal-list')?.innerText.includes('Settings: Sandbox'));
  await picture(night, 'palette-dark.png');
  const phone = await open(browser, fawn.base, { colorScheme: 'dark', viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true });
  await phone.goto(url);
  await picture(phone, 'phone-dark.png');
});
