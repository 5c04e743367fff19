// What runs did and took: the calls of a run, one of them with its prompt, and the page of usage.
// Everything works without JavaScript.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ config: 'suggestions: {enabled: false}\n', models: { priced: 'display_name: Priced, pricing: {currency: USD, input_per_million: 10, output_per_million: 50}' } }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const call = (name, args) => ({ name, args });
const work = scripted(
  { tool_calls: [call('ls', { path: '/mnt/user-data/workspace' }), call('read_file', { path: '/mnt/user-data/workspace/none.txt' })], usage: { prompt: 1200, completion: 90 } },
  { text: 'There is nothing there yet.', usage: { prompt: 1500, completion: 40 } },
);

test('a run is inspected from the menu of its turn, down to a prompt', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, work);
  await finished(page);
  await page.click('article.turn.last [data-act=more]');
  await page.click('article.turn.last [data-act=inspect]');
  await page.waitForURL(new RegExp(`/workspace/chats/${id}/runs/`));
  const rows = page.locator('.falls tbody tr');
  assert.deepEqual((await rows.locator('th .meta').allInnerTexts()).filter((k) => k !== 'Background call').sort(), ['Agent', 'Model', 'Model', 'Tool', 'Tool']);
  assert.equal(await page.locator('.falls tr:has-text("read_file") .bad').innerText(), 'failed');
  assert.deepEqual(await violations(page), []);
  await shot(page, 'inspect');
  await page.locator('.falls tr:has-text("Model")').last().locator('a').click();
  await page.waitForURL(/call=\d+/);
  const prompt = await page.locator('#call').innerText();
  assert.match(prompt, /--- BEGIN USER INPUT ---/);
  assert.match(prompt, /File not found/);
  assert.deepEqual(await violations(page), []);
  await shot(page, 'inspect-call');
  clean(page);
  const inspected = page.url();
  await page.context().close();
  for (const [name, options] of Object.entries({ dark: { colorScheme: 'dark' }, narrow: { viewport: { width: 390, height: 844 } }, plain: { javaScriptEnabled: false }, zh: { locale: 'zh-CN' } })) {
    const other = await open(browser, fawn.base, options);
    for (const [what, url] of [['inspect', inspected.replace(/#.*/, '')], ['usage', fawn.base + '/workspace/usage']]) {
      await other.goto(url);
      await other.locator('.falls').first().waitFor({ state: 'attached' });
      if (name !== 'plain') {
        assert.deepEqual(await violations(other), [], `${what} ${name}`);
        assert.ok(await other.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} ${name}`);
      }
      await shot(other, `${what}-${name}`);
    }
    clean(other);
    await other.context().close();
  }
});
