// The gauge of a chat: how full the model's window is, what the chat took, and what makes
// it smaller. By mouse and by keyboard.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open, send } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

const config = 'summarization: {keep: {type: messages, value: 2}}\nsuggestions: {enabled: false}\n';
before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ config, models: { small: 'display_name: Small, context_window: 40000, pricing: {currency: USD, input_per_million: 10, output_per_million: 50}' } }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const long = (n, prompt) => scripted({ text: `Answer ${n}. ${'words and more '.repeat(120)}`, usage: { prompt, completion: 100 } });
const turns = (page, n) => page.waitForFunction((n) => document.querySelectorAll('article.turn').length === n, n);
const gauge = (page, text) => page.waitForFunction((t) => { const g = document.querySelector('#gauge'); return t ? !g.hidden && g.textContent.trim() === t : g.hidden; }, text);
const say = async (page, n, text) => {
  await send(page, text);
  await turns(page, n);
  await finished(page);
};

// begin asks the model whose window is configured, in a new chat. That of the other one is learned by a test.
const begin = async (page, text) => {
  await page.goto(`${fawn.base}/workspace/chats/new`);
  await page.click('[popovertarget=models]');
  await page.click('#models label:has([value=small])');
  await page.fill('#q', text);
  await page.press('#q', 'Enter');
  await page.waitForURL(/chats\/(?!new)/);
  await finished(page);
};

test('the gauge follows the runs, opens what the chat took, and compacts', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await begin(page, long(1, 9900));
  await gauge(page, '25%');
  await say(page, 2, long(2, 19900));
  await gauge(page, '50%');
  await say(page, 3, long(3, 29900));
  await gauge(page, '75%');
  await page.reload();
  await gauge(page, '75%');
  await page.focus('#gauge');
  await page.keyboard.press('Enter');
  const modal = page.locator('#modal[open]');
  await modal.waitFor();
  const text = await modal.innerText();
  for (const want of [/75% of the context window used/, /Input tokens\s+59\.7k/, /Output tokens\s+300/, /USD 0\.61/, /Answer 3/]) assert.match(text, want);
  await modal.locator('.parts summary').first().click();
  assert.match(await modal.locator('.parts details[open]').innerText(), /Small.*1 call.*29\.9k in, 100 out/s);
  await modal.locator('form button:has-text("Compact")').click();
  await modal.locator('.notice.good').waitFor();
  assert.match(await modal.locator('.notice.good').innerText(), /4 messages are now summarised/);
  await page.keyboard.press('Escape');
  await page.waitForSelector('.cut details');
  await page.waitForFunction(() => /^≈\d+%$/.test(document.querySelector('#gauge').textContent.trim()));
  assert.equal(await page.locator('.turn.last .cut details').count(), 1, 'the line stands above the turn that is read word for word');
  assert.match(await page.innerText('.cut:not(:empty)'), /Earlier messages were summarised for the model. Nothing was deleted/);
  await page.click('.cut summary');
  assert.ok((await page.innerText('.cut .md')).length > 10);
  assert.equal(await page.locator('article.turn').count(), 3, 'nothing is gone');
  clean(page);
});

test('a chat that is too long offers what helps', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const full = scripted({ error: { status: 400, message: "This model's maximum context length is 4000 tokens." }, repeat: 20 });
  await ask(page, fawn.base, long(1, 900));
  await finished(page);
  await say(page, 2, long(2, 900));
  await say(page, 3, full);
  const card = page.locator('.turn.last .card.failed');
  assert.match(await card.innerText(), /too long for this model/);
  await card.locator('button:has-text("Switch model")').click();
  await page.waitForSelector('#models:popover-open');
  await page.keyboard.press('Escape');
  await card.locator('button:has-text("Compact")').click();
  await page.waitForFunction(() => /now summarised/.test(document.querySelector('.toast.good')?.innerText)); // for a moment only
  await page.waitForSelector('.cut details');
  clean(page);
});
