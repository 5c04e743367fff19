// Prompts that people keep: made, used by slash and in the palette, shared fields filled in by keyboard; both languages, both
// themes, a phone, no JavaScript.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, launch, newChat, open, shot, violations } from './browser.mjs';
import { chromium, lacks, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;
before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const looks = async (page, name) => {
  for (const [width, height] of [[1440, 900], [390, 844]]) {
    for (const theme of ['light', 'dark']) {
      await page.setViewportSize({ width, height });
      await page.evaluate((t) => { document.documentElement.dataset.theme = t; }, theme);
      assert.deepEqual(await violations(page), [], `${name} ${theme} ${width}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} fits ${width}`);
      await shot(page, `${name}-${theme}-${width}`);
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
};
const box = (page) => page.inputValue('#q');

test('a prompt is made and used from the menu and the palette, by keyboard', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.getByRole('link', { name: 'Prompts' }).click();
  await page.getByText('No prompts yet.').waitFor();
  await looks(page, 'prompts-empty');
  await page.getByRole('link', { name: 'New prompt' }).click();
  await page.getByLabel('Name').fill('Translate');
  await page.getByLabel('Description').fill('Into another language');
  await page.getByLabel('Prompt', { exact: true }).fill('Translate into {{language:English}}:\n\n{{text}}');
  await looks(page, 'prompt-form');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: '/translate' }).waitFor();
  await looks(page, 'prompt');

  // The menu: its fields are asked for, Enter inserts.
  await page.goto(fawn.base + newChat);
  await page.focus('#q');
  await page.keyboard.type('/tr');
  await page.locator('#slash:popover-open [aria-selected=true]', { hasText: '/translate' }).waitFor();
  await shot(page, 'prompts-slash');
  await page.keyboard.press('Enter');
  const dialog = page.locator('#modal');
  await dialog.getByLabel('text').waitFor();
  assert.equal(await dialog.getByLabel('language').inputValue(), 'English');
  await looks(page, 'prompt-fields');
  await dialog.getByLabel('language').fill('Danish');
  await dialog.getByLabel('text').fill('Good morning');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#q').value.includes('Good morning'));
  assert.equal(await box(page), 'Translate into Danish:\n\nGood morning');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'q');

  // The palette, on a page with a message box and on one without.
  await page.goto(fawn.base + newChat); // axe leaves empty attributes of style in the dialog
  await page.fill('#q', '');
  await page.keyboard.press('Control+k');
  await page.locator('#pal-q').waitFor();
  await page.keyboard.type('translate');
  const entry = page.locator('#pal-list [data-prompt]');
  await entry.waitFor();
  await shot(page, 'prompts-palette');
  await entry.click();
  await dialog.getByLabel('text').fill('Evening');
  await dialog.getByRole('button', { name: 'Insert' }).click();
  await page.waitForFunction(() => document.querySelector('#q').value === 'Translate into English:\n\nEvening');
  await page.goto(fawn.base + '/workspace/prompts');
  await page.getByRole('link', { name: 'Use /translate' }).click();
  await page.getByLabel('text').fill('Night');
  await page.getByRole('button', { name: 'Insert' }).click();
  await page.waitForURL(/chats\/new/);
  assert.equal(await box(page), 'Translate into English:\n\nNight');

  // Its name as the message.
  await page.fill('#q', '/translate');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Enter');
  await page.waitForURL(/saved-prompt/);
  clean(page);
});

test('prompts are duplicated, exported, imported and deleted', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + '/workspace/prompts');
  await page.getByRole('link', { name: '/translate', exact: true }).click();
  await page.getByRole('button', { name: 'Duplicate' }).click();
  await page.getByRole('heading', { name: '/translate-2' }).waitFor();
  await page.goto(fawn.base + '/workspace/prompts');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Export' }).click()]);
  assert.equal(download.suggestedFilename(), 'prompts.json');
  await page.locator('summary', { hasText: 'Import prompts' }).click();
  await page.getByLabel('JSON file').setInputFiles([{ name: 'p.json', mimeType: 'application/json',
    buffer: Buffer.from('[{"command":"/minutes","title":"Minutes","content":"Minutes of {{meeting}}"}]') }]);
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await page.getByText('1 prompt imported').waitFor();
  await looks(page, 'prompts');
  await page.getByRole('link', { name: '/minutes', exact: true }).click();
  await page.locator('summary', { hasText: 'Delete prompt' }).click();
  await page.getByRole('button', { name: 'Delete prompt' }).click();
  await page.getByText('Prompt deleted').waitFor();
  clean(page);
});

test('prompts speak Chinese, and work without JavaScript on a phone', { skip }, async () => {
  const page = await open(browser, fawn.base, { locale: 'zh-CN', viewport: { width: 390, height: 844 }, javaScriptEnabled: false });
  await page.goto(fawn.base + '/workspace/prompts/new');
  await page.getByLabel('名称').fill('总结');
  await page.getByLabel('提示词内容').fill('总结{{主题}}，用{{语言：中文}}');
  await page.getByRole('button', { name: '保存' }).click();
  await page.goto(fawn.base + '/workspace/prompts');
  await page.getByRole('link', { name: '使用 /总结' }).click();
  await page.getByLabel('主题').fill('会议');
  await page.getByRole('button', { name: '插入' }).click();
  assert.equal(await page.inputValue('#q'), '总结会议，用中文');
});
