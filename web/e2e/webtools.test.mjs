// The web: a search and a page in the trail, and the sources of an answer, with a search engine and
// a site on this machine.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const paragraph = '<p>A heat pump moves heat from the air into the house, and needs a third of the energy it delivers, even on cold days.</p>';
let fawn, browser, site, at;
const asked = [];

before(async () => {
  if (skip) return;
  site = createServer((req, res) => {
    const url = new URL(req.url, 'http://x');
    asked.push(url.pathname);
    if (url.pathname === '/tavily/search') {
      res.writeHead(432).end('{}');
    } else if (url.pathname === '/search') {
      res.end(JSON.stringify({ results: [
        { url: `${at}/pumps`, title: 'Heat pumps explained', content: 'How a heat pump works, and what it costs to run in an old house.' },
        { url: 'https://www.energy.example/subsidies', title: 'Subsidies for heating, 2026', content: 'Who gets how much, and until when.' },
        { url: 'https://forum.example/t/81', title: 'Noise of heat pumps <script>alert(1)</script>', content: 'Neighbours tell what they hear at night.' },
      ] }));
    } else if (url.pathname === '/pumps') {
      res.setHeader('Content-Type', 'text/html; charset=utf-8');
      res.end(`<title>Heat pumps explained</title><nav>Menu</nav><article><h1>Heat pumps explained</h1>${paragraph.repeat(8)}
        <h2>Costs</h2>${paragraph.repeat(3)}<img src="/beacon.png" alt="a beacon"></article><footer>All rights reserved</footer>`);
    } else {
      res.writeHead(404).end();
    }
  });
  await new Promise((done) => site.listen(0, '127.0.0.1', done));
  const { port } = site.address();
  at = `http://127.0.0.1:${port}`;
  const config = `web: {searxng_url: "${at}", allow_private: [127.0.0.1], ports: [${port}]}
tools: [{name: web_search, use: tavily, api_key: k, base_url: "${at}/tavily"}]\n`;
  [fawn, browser] = await Promise.all([start({ config }), launch()]);
});
after(async () => {
  await browser?.close();
  await fawn?.stop();
  await new Promise((done) => (site ? site.close(done) : done()));
});

const call = (name, args) => ({ tool_calls: [{ name, args }] });
const question = () => scripted(call('web_search', { query: 'heat pump costs' }), call('web_fetch', { url: `${at}/pumps` }),
  { text: `It needs a third of the energy [citation:Heat pumps explained](${at}/pumps), and there is money for it [citation:Subsidies](https://www.energy.example/subsidies).` });

const unfold = async (page) => {
  if (!await page.locator('.turn.last .trail').evaluate((d) => d.open)) await page.click('.turn.last .trail > summary');
  for (const [i, want] of [[0, '.hits'], [1, '.md.page']]) {
    await page.locator('.turn.last .step .head').nth(i).click();
    await page.waitForSelector(`.turn.last .step ${want}`);
  }
  await page.click('.turn.last .sources summary');
};

test('searches, pages and numbered sources', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const foreign = [];
  page.on('request', (r) => { if (!r.url().startsWith(fawn.base) && !r.url().startsWith('data:')) foreign.push(r.url()); });
  await ask(page, fawn.base, question());
  await finished(page);
  await page.waitForFunction(() => !document.querySelector('.turn.last .trail').open); // it folds itself
  for (const again of [false, true]) {
    if (again) await page.reload();
    await page.waitForSelector('.turn.last .sources', { state: 'attached' });
    await unfold(page);
    const hits = await page.locator('.turn.last .hits').first().innerText();
    assert.match(hits, /Heat pumps explained[^]*How a heat pump works[^]*Subsidies for heating, 2026[^]*energy\.example · 2/);
    assert.doesNotMatch(hits, /<script/);
    assert.match(await page.innerText('.turn.last .step:first-child .body'), /Not used: tavily: the quota of the plan is used up/);
    assert.match(await page.innerText('.turn.last .md.page'), /moves heat[^]*Costs/);
    assert.deepEqual(await page.locator('.turn.last .sources li').evaluateAll((list) => list.map((li) => `${li.value} ${li.querySelector('a').textContent}`)),
      ['1 Heat pumps explained', '2 Subsidies']);
    assert.deepEqual(await violations(page), []);
  }
  await shot(page, 'webtools');
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.deepEqual(await violations(page), []);
  await shot(page, 'webtools-dark');
  await page.setViewportSize({ width: 390, height: 844 });
  assert.deepEqual(await violations(page), []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than a phone');
  await page.locator('.turn.last .hits').first().scrollIntoViewIfNeeded();
  await shot(page, 'webtools-phone');
  assert.deepEqual(foreign, [], 'the browser asks nobody but Fawn');
  assert.ok(!asked.includes('/beacon.png') && !asked.includes('/favicon.ico'));
  clean(page);
});

test('an address inside is refused, and the step says why', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted(call('web_fetch', { url: 'http://169.254.169.254/latest/meta-data/' }), { text: 'It is not allowed.' }));
  await finished(page);
  await page.waitForFunction(() => !document.querySelector('.turn.last .trail').open);
  await page.click('.turn.last .trail > summary');
  assert.match(await page.innerText('.turn.last .step.fail .why'), /the address isn't allowed/);
  clean(page);
});
