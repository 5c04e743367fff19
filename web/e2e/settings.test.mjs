// Settings: appearance at once and without a flash, both languages, models from
// the browser with a key that is never shown again, as a dialog, as pages on a
// phone and without JavaScript.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clean, launch, newChat, open, send, shot, violations } from './browser.mjs';
import { chromium, lacks, start, startModel, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const models = '/workspace/settings/models';
let fawn, browser, model, dir;

before(async () => {
  if (skip) return;
  dir = mkdtempSync(join(tmpdir(), 'fawn-e2e-'));
  [fawn, browser, model] = await Promise.all([start({ model: false, env: { DEEPSEEK_API_KEY: 'sk-of-the-environment' } }), launch(), startModel(dir)]);
});
after(async () => { await browser?.close(); await fawn?.stop(); await model?.stop(); if (dir) rmSync(dir, { recursive: true, force: true }); });

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const dark = 'rgb(16, 20, 18)', light = 'rgb(250, 248, 243)';

test('the theme changes at once, and the first frame after a reload has it', { skip }, async () => {
  const page = await open(browser, fawn.base, { colorScheme: 'light' });
  await page.goto(fawn.base + newChat);
  await page.getByRole('link', { name: 'Settings' }).click();
  const dialog = page.getByRole('dialog', { name: 'Settings' });
  await dialog.getByText('Dark', { exact: true }).click();
  await page.waitForFunction((c) => getComputedStyle(document.body).backgroundColor === c, dark);
  await page.waitForFunction(() => document.querySelector('#saved').textContent.includes('✓'));
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await page.waitForFunction(() => document.activeElement.textContent.trim() === 'Settings');
  assert.equal(new URL(page.url()).pathname, newChat);
  await page.keyboard.press('Control+k');
  await page.locator('#pal-q').pressSequentially('skills');
  await page.waitForFunction(() => document.querySelector('#pal-list [aria-selected=true]')?.textContent.trim() === 'Skills');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/workspace/skills');
  await page.goto(fawn.base + '/workspace/chats');
  await page.getByText('No chats yet').waitFor();
  assert.equal(await page.getByText('Select all').isVisible(), false);
  await page.goto(fawn.base + newChat);
  await page.addInitScript(() => {
    window.seen = [];
    new MutationObserver(() => { if (document.body) window.seen.push(getComputedStyle(document.documentElement).colorScheme); }).observe(document, { childList: true, subtree: true });
  });
  await page.reload();
  assert.deepEqual(await page.evaluate(() => [...new Set(window.seen)].filter((s) => s !== 'normal' && s !== 'dark')), []);
  assert.equal(await background(page), dark);
  clean(page);
  await page.context().close();
});

test('what others made is named with its licence, and the texts are there', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(`${fawn.base}/workspace/settings/about`);
  await page.locator('summary', { hasText: /^\s*\d+ third-party components are built in\s*$/ }).click();
  await page.locator('.parts li', { hasText: 'modernc.org/sqlite' }).getByText('BSD-3-Clause').waitFor();
  await page.getByRole('link', { name: 'Licence texts' }).click();
  await page.getByText('SIL OPEN FONT LICENSE').first().waitFor();
  clean(page);
  await page.context().close();
});

test('the language changes every text, the size those of answers', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(`${fawn.base}/workspace/settings/appearance`);
  await page.selectOption('#lang', 'zh-CN');
  await page.waitForFunction(() => document.documentElement.lang === 'zh-CN');
  for (const s of ['appearance', 'account', 'models', 'personal', 'memory', 'tools', 'notifications', 'channels']) {
    await page.goto(`${fawn.base}/workspace/settings/${s}`);
    const english = (await page.innerText('main h1')) + (await page.innerText('.settings .nav')) + (await page.innerText('main .section h2'));
    assert.doesNotMatch(english.replaceAll('MCP', ''), /[A-Za-z]/, s);
  }
  await page.goto(`${fawn.base}/workspace/settings/skills`); // skills have a page of their own
  assert.equal(await page.innerText('main h1'), '技能');
  await page.goto(`${fawn.base}/workspace/settings/appearance`);
  await page.getByText('20', { exact: true }).click();
  await page.waitForFunction(() => document.querySelector('#saved').textContent.includes('✓'));
  await page.goto(fawn.base + newChat);
  await send(page, '你好');
  await page.waitForSelector('.ans .md, .ans.md');
  assert.equal(await page.locator('.md').first().evaluate((e) => getComputedStyle(e).fontSize), '20px');
  clean(page);
  await page.context().close();
});

// A server that has one model and knows no other.
const lacking = async () => {
  const server = http.createServer((req, res) => {
    res.writeHead(/models$/.test(req.url) ? 200 : 404, { 'Content-Type': 'application/json' });
    res.end(/models$/.test(req.url) ? '{"data":[{"id":"larch-2"}]}' : '{"error":{"message":"model not found"}}');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { base: `http://127.0.0.1:${server.address().port}`, stop: () => { server.closeAllConnections(); server.close(); } };
};

test('a model is added in the dialog, each failed test says what is wrong, used and removed', { skip }, async (t) => {
  const unknown = await lacking();
  t.after(unknown.stop);
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.getByRole('region', { name: 'You’re using the offline model' }).getByRole('link', { name: 'Add a model' }).click();
  const dialog = page.getByRole('dialog', { name: 'Settings' });
  await dialog.getByRole('link', { name: 'Use the DeepSeek API key' }).waitFor();
  await dialog.getByRole('link', { name: 'Other (OpenAI-compatible API)' }).click();
  await dialog.getByLabel('Address').fill('http://127.0.0.1:9/v1');
  await dialog.getByLabel('Model ID').fill('script');
  await dialog.getByLabel('API key').fill('sk-typed-in-the-browser');
  await dialog.getByRole('button', { name: 'Test' }).click();
  await dialog.getByText("script: There’s no server at this address").waitFor();
  assert.equal(await dialog.getByLabel('API key').inputValue(), 'sk-typed-in-the-browser');
  assert.equal(await dialog.locator('#probe .out').isVisible(), false, 'the raw text is folded');
  await dialog.getByText('Details').click();
  assert.match(await dialog.locator('#probe .out').innerText(), /connection refused/);
  await shot(page, 'probe-server');
  await dialog.getByLabel('Address').fill(unknown.base.replace('http://', ''));
  await dialog.getByRole('button', { name: 'Test' }).click();
  await dialog.getByText('script: This server doesn’t have a model called “script”.').waitFor();
  await shot(page, 'probe-model');
  assert.deepEqual(await violations(page), []);
  await dialog.getByRole('button', { name: 'larch-2' }).click();
  assert.equal(await dialog.getByLabel('Model ID').inputValue(), 'larch-2');
  assert.equal(await dialog.getByLabel('API key').inputValue(), 'sk-typed-in-the-browser');
  await dialog.getByLabel('Model ID').fill('script');
  await dialog.getByLabel('Address').fill(model.url);
  await dialog.getByRole('button', { name: 'Test' }).click();
  await dialog.getByText(/script answered in .* The working address is .*\/v1\./).waitFor();
  await dialog.getByRole('button', { name: 'Add a model' }).click();
  await dialog.getByText('script is ready to use.').waitFor();
  assert.equal((await page.content()).includes('sk-typed'), false);
  for (const f of ['settings.yaml', 'secrets.env']) assert.equal(statSync(join(fawn.data, f)).mode & 0o777, 0o600);
  assert.match(readFileSync(join(fawn.data, 'secrets.env'), 'utf8'), /sk-typed-in-the-browser/);
  await dialog.locator('summary', { hasText: 'script' }).click();
  await dialog.getByText('Saved (hidden)').waitFor();
  await shot(page, 'settings-model');
  await Promise.all([page.waitForEvent('load'), dialog.getByRole('button', { name: 'Close' }).click()]); // what is below shows the change
  assert.equal(await page.getByText('You’re using the offline model').count(), 0);
  await send(page, 'echo 3 tokens');
  await page.waitForFunction(() => document.querySelector('article.turn.last .end .acts'));
  assert.equal((await model.requests()).length > 0, true);
  await page.goto(fawn.base + models);
  await page.locator('summary', { hasText: 'script' }).click();
  await page.getByRole('button', { name: 'Remove: script' }).click();
  await page.waitForFunction(() => document.querySelector('main')?.innerText.includes('settings.yaml:') === false);
  assert.doesNotMatch(readFileSync(join(fawn.data, 'secrets.env'), 'utf8'), /sk-typed/);
  clean(page);
  await page.context().close();
});

test('a phone gets pages; without JavaScript everything is a form', { skip }, async () => {
  const phone = await open(browser, fawn.base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await phone.goto(fawn.base + newChat);
  await phone.getByRole('link', { name: 'Open menu' }).tap();
  await phone.getByRole('link', { name: 'Settings' }).tap();
  await phone.waitForURL(/settings\/appearance/);
  assert.equal(await phone.getByRole('navigation', { name: 'Sections' }).isVisible(), false);
  await phone.getByRole('combobox', { name: 'Sections' }).selectOption('sandbox');
  await phone.waitForURL(/settings\/sandbox/);
  assert.equal(await phone.getByRole('button', { name: 'Go', exact: true }).isVisible(), false);
  clean(phone);
  await phone.context().close();
  const page = await open(browser, fawn.base, { javaScriptEnabled: false, colorScheme: 'light' });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${fawn.base}/workspace/settings/appearance`);
  await page.getByRole('combobox', { name: 'Sections' }).selectOption('about');
  await page.getByRole('button', { name: 'Go', exact: true }).click();
  await page.waitForURL(/settings\/about/);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`${fawn.base}/workspace/settings/appearance`);
  assert.equal(await background(page), light);
  await page.getByLabel('Dark').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.waitForURL(/saved=1/);
  assert.equal(await background(page), dark);
  await page.goto(`${fawn.base}${models}?add=compatible`);
  await page.getByLabel('Address').fill(model.url);
  await page.getByLabel('Model ID').fill('plain');
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByText(/plain answered in/).waitFor();
  await page.getByRole('button', { name: 'Add a model' }).click();
  await page.getByText('plain is ready to use.').waitFor();
  await page.locator('summary', { hasText: 'plain' }).click();
  await page.getByRole('button', { name: 'Remove: plain' }).click();
  await until('the model is gone', async () => !(await page.content().catch(() => 'settings.yaml:')).includes('settings.yaml:'));
  await page.context().close();
});
