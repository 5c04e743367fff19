// The agent's browser: its steps with pictures in the trail, and the panel in which a person watches it, takes it over
// and hands it back, with a site on this machine.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { ask, finished, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser, site, at;

before(async () => {
  if (skip) return;
  site = createServer((req, res) => {
    res.setHeader('Content-Type', 'text/html; charset=utf-8');
    res.end(`<title>Tea shop</title><style>body { font: 20px sans-serif; margin: 0 }</style>
      <input aria-label=Code style="position:absolute;left:20px;top:20px;width:300px;height:40px" oninput="out.textContent = 'Code ' + this.value">
      <h1 style="padding-top:80px">Tea shop</h1><p id=out>No code yet</p><button onclick="this.textContent='Bought'">Buy tea</button>`);
  });
  await new Promise((done) => site.listen(0, '127.0.0.1', done));
  const { port } = site.address();
  at = `http://127.0.0.1:${port}/`;
  [fawn, browser] = await Promise.all([start({ config: `web: {allow_private: [127.0.0.1], ports: [${port}], browser: "${chromium}"}\n` }), launch()]);
});
after(async () => {
  await browser?.close();
  await fawn?.stop();
  await new Promise((done) => (site ? site.close(done) : done()));
});

const call = (name, args) => ({ tool_calls: [{ name, args }] });

test('steps with pictures, watching, taking over and handing back', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted(call('browser_navigate', { url: at }), call('browser_click', { element: 'Buy tea' }), { text: 'Bought.' }));
  await finished(page);
  if (!await page.locator('.turn.last .trail').evaluate((d) => d.open)) await page.click('.turn.last .trail > summary');
  const steps = await page.locator('.turn.last .step .head').allInnerTexts();
  assert.match(steps.join('\n'), /Opened\s+127\.0\.0\.1/);
  assert.match(steps.join('\n'), /Clicked\s+“Buy tea”/);
  await page.waitForFunction(() => [...document.querySelectorAll('.turn.last .shot img')].filter((i) => i.naturalWidth > 0).length === 2);
  await shot(page, 'browsing-trail');

  await page.click('#browser-button');
  await page.waitForFunction(() => document.querySelector('#panel .screen img')?.naturalWidth > 0);
  assert.equal(await page.inputValue('#panel [data-gesture=open] input'), at);
  await page.click('#panel .theirs button');
  await page.waitForSelector('#panel [data-browse][data-held]');
  const img = page.locator('#panel .screen img');
  const box = await img.boundingBox();
  await img.click({ position: { x: 100 / 1280 * box.width, y: 40 / 800 * box.height } });
  await page.keyboard.type('471x');
  await page.keyboard.press('Backspace');
  await page.keyboard.type('1');
  await shot(page, 'browsing-panel');
  await page.emulateMedia({ colorScheme: 'dark' });
  await shot(page, 'browsing-panel-dark');
  assert.deepEqual(await violations(page), []);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390), 'the panel is wider than a phone');
  await shot(page, 'browsing-panel-390');
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  await page.click('#panel .yours button.primary');
  await page.waitForSelector('#panel [data-browse]:not([data-held])');
  assert.deepEqual(await violations(page), []);

  await page.click('#panel [data-panel-close]');
  await page.fill('#q', scripted(call('browser_read', {}), { text: 'Read.' }));
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('.turn').length > 2 || document.querySelector('.turn.last')?.innerText.includes('Read.'));
  await finished(page);
  const id = new URL(page.url()).pathname.split('/').pop();
  const state = await (await fetch(`${fawn.base}/api/threads/${id}/state`)).text();
  assert.match(state, /Code 4711/);
  assert.match(state, /a person had taken over the browser/);
  await page.close();
});
