// Pictures: pasted, shown small, and seen by a model that can.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, finished, launch, newChat, open, send } from './browser.mjs';
import { chromium, lacks, start, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ scripted: ', supports_vision: true' }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

// paste puts a picture drawn by the browser, and one that is none, into the message box.
const paste = (page) => page.evaluate(async () => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 300, height: 200 });
  const at = canvas.getContext('2d');
  at.fillStyle = '#0a7';
  at.fillRect(0, 0, 300, 200);
  const png = await new Promise((done) => canvas.toBlob(done));
  const data = new DataTransfer();
  data.items.add(new File([png], 'image.png', { type: 'image/png' }));
  data.items.add(new File(['no picture'], 'broken.png', { type: 'image/png' }));
  document.querySelector('#q').dispatchEvent(new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: data }));
});
const sizes = (page, where) => page.locator(where + ' img').evaluateAll((all) => all.map((img) => `${img.naturalWidth}x${img.naturalHeight}`).sort());
const loaded = (page, where) => page.waitForFunction((where) => {
  const all = [...document.querySelectorAll(where + ' img')];
  return all.length === 2 && all.every((img) => img.complete);
}, where);

test('a pasted picture is a small picture on its chip, goes with the message, and the model sees it', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await paste(page);
  await page.waitForFunction(() => document.querySelectorAll('#chips li:not(:has(progress))').length === 2);
  assert.match((await page.locator('#chips .nm').allInnerTexts()).join(' '), /image-\d+\.png/, 'the next one has another name');
  await loaded(page, '#chips');
  assert.deepEqual(await sizes(page, '#chips'), ['0x0', '96x64']);
  assert.equal(await page.locator('#chips .thumb .icon').count(), 2, 'the icon is below, for where there is no picture');
  await send(page, words(3));
  await finished(page);
  await loaded(page, '.mine');
  assert.deepEqual(await sizes(page, '.mine'), ['0x0', '96x64']);
  const seen = (await fawn.script.requests()).map((r) => JSON.stringify(r.body)).find((body) => body.includes('attached this picture')) ?? '';
  assert.match(seen, /data:image\/png;base64,/);
  assert.match(seen, /broken\.png[^"]*It cannot be shown: its content doesn't match its name/);
  clean(page);
});
