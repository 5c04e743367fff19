// The columns: their widths are the reader's, by pointer and by keys, and the side bar
// comes in by a finger on a phone.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, newChat, open } from './browser.mjs';
import { chromium, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const width = (page, id) => page.locator(id).evaluate((el) => Math.round(el.getBoundingClientRect().width));
// saved waits until the page has said what it keeps, and nothing else that was on its way.
const saved = (page, value) => page.waitForResponse((r) => r.url().endsWith('/ui/prefs') && r.ok() && (value === undefined || (r.request().postData() ?? '').endsWith(`w=${value}`)));

test('the side bar is made wider by keys and by pointer, stays so, and goes back', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  const line = page.getByRole('separator', { name: 'Sidebar width' });
  assert.equal(await width(page, '#side'), 272);
  assert.equal(await line.getAttribute('aria-valuenow'), '272');
  await line.focus();
  await page.waitForSelector('.grip[data-on=yes]');
  for (const [key, want] of [['ArrowRight', 300], ['ArrowRight', 320], ['End', 360], ['ArrowRight', 360], ['Home', 220], ['ArrowLeft', 220]]) {
    await Promise.all([saved(page, want), page.keyboard.press(key)]);
    assert.equal(await width(page, '#side'), want, key);
    assert.equal(await line.getAttribute('aria-valuenow'), String(want));
  }
  const y = 450;
  await page.mouse.move(220, y);
  await page.mouse.down();
  await page.mouse.move(250, y, { steps: 3 });
  await page.mouse.move(297, y, { steps: 3 });
  await Promise.all([saved(page, 300), page.mouse.up()]);
  await page.waitForFunction(() => document.querySelector('#side').getBoundingClientRect().width === 300);
  await page.reload();
  assert.equal(await width(page, '#side'), 300, 'the next page knows');
  assert.equal(await page.getAttribute('html', 'style'), null);
  await line.hover();
  await page.waitForSelector('.grip[data-on=yes]');
  await Promise.all([saved(page), line.dblclick()]);
  assert.equal(await width(page, '#side'), 272);
  clean(page);
  await page.context().close();
});

test('the panel has a line of its own, and none while it is closed', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ text: 'Nothing to see.' }));
  await finished(page);
  const line = page.getByRole('separator', { name: 'File panel width' });
  assert.equal(await line.isVisible(), false);
  await page.click('#files-button');
  await line.focus();
  await page.waitForSelector('.grip[data-grip=panel][data-on=yes]');
  const was = await width(page, '#panel');
  await Promise.all([saved(page), page.keyboard.press('ArrowLeft')]);
  assert.ok(await width(page, '#panel') > was);
  assert.equal(await line.getAttribute('aria-valuenow'), '50');
  clean(page);
  await page.context().close();
});

test('on a phone a finger from the left edge brings the side bar, and there are no lines', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.goto(fawn.base + newChat);
  assert.equal(await page.locator('.grip:visible').count(), 0);
  const cdp = await page.context().newCDPSession(page);
  const finger = async (...xs) => {
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x: xs[0], y: 400 }] });
    for (const x of xs.slice(1)) await cdp.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: [{ x, y: 402 }] });
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  };
  // A long swipe, which browsers take as going back unless the page forbids it.
  await finger(100, ...Array.from({ length: 35 }, (_, i) => 104 + 8 * i));
  assert.equal(await page.locator('dialog.sheet').count(), 0, 'not from the middle');
  const went = page.waitForURL('about:blank', { timeout: 1000 }).then(() => true, () => false);
  assert.equal(await went, false, 'the browser went back');
  // A busy browser cancels a touch that the page has not answered in time; a person strokes again.
  const sheet = page.locator('dialog.sheet[open]');
  await until('the side bar is there', async () => {
    await finger(6, 40, 90, 140);
    await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
    return sheet.count();
  });
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog.sheet', { state: 'detached' });
  clean(page);
  await page.context().close();
});
