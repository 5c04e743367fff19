// What may be said next: suggestions under the last answer, by click and by key.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open, send } from './browser.mjs';
import { chromium, lacks, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const list = ['What does it cost to run?', 'How loud is it?', 'Which subsidies are there?'];
const prompt = 'Below is the end of a conversation'; // what a model is asked for them begins with it
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
  await fawn.script.rules([
    { match: prompt, script: { turns: [{ text: 'Here they are: ' + JSON.stringify(list) }] } },
    { match: 'Stay', script: { turns: [{ text: 'word ', gate: 'stay', tokens: 1 }] } },
    { match: 'Pump', script: { turns: [{ text: 'A heat pump, in most houses.' }] } },
  ]);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const asked = async () => (await fawn.script.requests()).filter((r) => JSON.stringify(r.body).includes(prompt)).length;
const buttons = (page) => page.locator('.turn.last [data-next]');
const suggested = (page) => page.waitForFunction(() => document.querySelectorAll('.turn.last [data-next]').length === 3);
const filled = (page, text) => page.waitForFunction((text) => document.querySelector('#q').value === text, text);
const turns = (page, n) => page.waitForFunction((n) => document.querySelectorAll('article.turn').length === n, n);

test('suggestions come with the answer, survive a reload, and one is sent by click or key', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.context().addInitScript(() => {
    window.shift = 0;
    new PerformanceObserver((entries) => { for (const e of entries.getEntries()) if (!e.hadRecentInput) window.shift += e.value; })
      .observe({ type: 'layout-shift', buffered: true });
  });
  const before = await asked();
  await ask(page, fawn.base, 'Pump or gas?');
  await suggested(page);
  assert.deepEqual(await buttons(page).allInnerTexts(), list);
  assert.ok(await page.evaluate(() => window.shift) < 0.02, 'nothing moved for them');
  await page.reload();
  await suggested(page);
  assert.equal(await asked(), before + 1, 'a reload asks nobody');

  await buttons(page).nth(1).click();
  await turns(page, 2);
  assert.equal(await page.locator('.turn.last .you').innerText(), list[1]);
  await finished(page);
  await suggested(page);
  assert.equal(await page.locator('[data-next]').count(), 3, 'only the last answer has some');

  await page.focus('#q');
  await page.keyboard.press('Alt+Digit3');
  await turns(page, 3);
  assert.equal(await page.locator('.turn.last .you').innerText(), list[2]);
  await finished(page);
  clean(page);
});

test('with Alt and a click it only fills the box, and what is in the box is not lost', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, 'Pump or gas, please?');
  await suggested(page);
  await buttons(page).first().click({ modifiers: ['Alt'] });
  assert.equal(await page.inputValue('#q'), list[0]);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'q');

  await buttons(page).nth(1).click();
  await page.waitForSelector('#next-ask[open]');
  await page.keyboard.press('Escape');
  await page.waitForSelector('#next-ask', { state: 'hidden' });
  assert.equal(await page.inputValue('#q'), list[0]);
  await buttons(page).nth(1).click();
  await page.click('#next-ask [value=append]');
  await filled(page, list[0] + '\n' + list[1]);
  await buttons(page).nth(2).click();
  await page.click('#next-ask [value=replace]');
  await filled(page, list[2]);
  assert.equal(await page.locator('article.turn').count(), 1, 'nothing was sent');
  clean(page);
});

test('they go when something else is said, and a stopped answer has none', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, 'Pump or gas, then?');
  await suggested(page);
  const before = await asked();
  await send(page, 'Stay with me');
  await turns(page, 2);
  await page.waitForFunction(() => !document.querySelector('[data-next]'));
  await page.click('#send [data-stop]');
  await finished(page);
  await page.waitForSelector('.turn.stop.last');
  await fawn.script.open('stay');
  assert.equal(await page.locator('[data-next], [id^=next-]').count(), 0);
  assert.equal(await asked(), before);
  clean(page);
});
