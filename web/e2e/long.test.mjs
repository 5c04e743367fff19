// Names and words that are too long for a phone: they are cut or wrapped, and nothing beside
// them is pushed off the screen.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, finished, launch, newChat, open, send } from './browser.mjs';
import { chromium, held, lacks, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const name = 'Plan of the whole house with a very long name and the date of the last change, final version 3.csv';
const word = 'Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenfabrikantenverbandsvorsitzender'.repeat(2);
let fawn, browser;

before(async () => {
  if (!skip) [fawn, browser] = await Promise.all([start({ models: { other: 'display_name: "A model with a name that is much too long for the message box of any phone"' } }), launch()]);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

// What stands outside of the screen, except in what scrolls by itself.
const outside = (page) => page.evaluate(() => [...document.querySelectorAll('.chip, .you, .mine, .composer, .bar > *, #send button, .pickbtn, .file, .acts')]
  .filter((el) => el.checkVisibility())
  .filter((el) => { const r = el.getBoundingClientRect(); return r.width && (r.left < -1 || r.right > innerWidth + 1); })
  .map((el) => el.outerHTML.slice(0, 90)));

for (const width of [390, 320]) {
  test(`${width} px: long names push nothing off the screen`, { skip }, async () => {
    const page = await open(browser, fawn.base, { viewport: { width, height: 700 }, hasTouch: true, isMobile: true });
    await page.goto(fawn.base + newChat);
    await page.locator('[name=model][value=other]').evaluate((r) => r.click());
    await page.setInputFiles('#pick', { name, mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n') });
    await page.waitForSelector('#chips li:not(:has(progress))');
    assert.deepEqual(await outside(page), [], 'the message box');
    await send(page, `${held(`long${width}`, 3)} ${word}`);
    await page.waitForSelector('#send [data-stop]');
    assert.deepEqual(await outside(page), [], 'while it runs');
    const [queue, stop] = await Promise.all(['#send [data-queue]', '#send [data-stop]'].map((s) => page.locator(s).boundingBox()));
    assert.ok(Math.abs(queue.y + queue.height / 2 - stop.y - stop.height / 2) <= 1, 'both buttons are in one line');
    assert.ok(stop.width >= 44 && stop.height >= 44, `the stop button has ${stop.width} × ${stop.height} px`);
    await fawn.script.open(`long${width}`);
    await finished(page);
    await page.reload();
    assert.deepEqual(await outside(page), [], 'when it has ended');
    clean(page);
    await page.context().close();
  });
}
