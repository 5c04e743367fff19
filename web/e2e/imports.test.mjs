// Exports of other apps become chats: a preview, the import, the next message, undo. In both themes and on a phone.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, launch, open, send, shot, violations } from './browser.mjs';
import { chromium, lacks, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;
const data = '/workspace/settings/data';
const question = (i) => `Question ${i} about honey`;
const chat = (i) => ({ id: `g${i}`, title: `Honey number ${i}`, create_time: 1700000000 + i, update_time: 1700000100 + i, current_node: 'a2',
  mapping: {
    root: { parent: null, message: null },
    q: { parent: 'root', message: { author: { role: 'user' }, create_time: 1700000001, content: { content_type: 'text', parts: [question(i)] }, metadata: {} } },
    a1: { parent: 'q', message: { author: { role: 'assistant' }, recipient: 'all', content: { content_type: 'text', parts: ['Old.'] }, metadata: { model_slug: 'gpt-4o' } } },
    a2: { parent: 'q', message: { author: { role: 'assistant' }, recipient: 'all', content: { content_type: 'text', parts: [`Answer ${i}: **sweet**.`] }, metadata: { model_slug: 'gpt-5' } } },
  } });
const file = { name: 'conversations.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify([1, 2, 3].map(chat))) };

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

test('an export is previewed, imported, continued and taken back', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + data);
  await page.getByLabel('Export file').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('no') });
  await page.getByRole('button', { name: 'Check file' }).click();
  await page.getByText('isn’t an export of ChatGPT').waitFor();
  await page.getByLabel('Export file').setInputFiles(file);
  await page.getByRole('button', { name: 'Check file' }).click();
  await page.getByText('Ready to import 3 chats from ChatGPT').waitFor();
  await page.getByText('3 earlier versions').waitFor();
  await page.getByText('Show chats').click();
  await page.getByText('Honey number 2').waitFor();
  for (const [width, height] of [[1440, 900], [390, 844]]) {
    for (const theme of ['light', 'dark']) {
      await page.setViewportSize({ width, height });
      await page.evaluate((t) => { document.documentElement.dataset.theme = t; }, theme);
      assert.deepEqual(await violations(page), [], `${theme} ${width}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await page.getByText('Ready to import').scrollIntoViewIfNeeded();
      await shot(page, `import-preview-${theme}-${width}`);
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('Imported 3 chats from ChatGPT').waitFor();
  await shot(page, 'import-done');
  await page.getByRole('link', { name: 'Show all chats' }).click();
  await page.locator('#list .nm', { hasText: 'Honey number 2' }).click();
  await page.getByText('Answer 2: sweet.').waitFor();
  await shot(page, 'import-chat');
  await send(page, 'echo 5 tokens');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await page.goto(fawn.base + data);
  await page.getByRole('button', { name: 'Undo import' }).click();
  await page.getByText('1 chat you’ve continued was kept.').waitFor();
  clean(page);
  await page.context().close();
});
