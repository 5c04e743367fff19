// Collections of documents in the browser: made, given documents, searched, chosen by a project and for one chat, cited there; in
// both languages, both themes and on a phone.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, finished, launch, newChat, open, send, shot, violations } from './browser.mjs';
import { chromium, lacks, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;
before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

// looks checks a page in both themes and on a phone, and keeps pictures of it.
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

// read reloads the page until nothing is being read any more.
const read = async (page) => {
  for (let left = 200; await page.getByText(/are being read|正在读取/).count() > 0; left--) {
    assert.ok(left > 0, 'it is still being read');
    await page.reload();
  }
};

const guide = { name: 'guide.md', mimeType: 'text/markdown', buffer: Buffer.from('# Meals\n\nA lunch may cost 30 francs.\n') };

test('a collection is made, searched, chosen and cited', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.getByRole('link', { name: 'Knowledge' }).click();
  await page.getByText('No collections yet.').waitFor();
  await looks(page, 'knowledge-empty');
  await page.locator('summary', { hasText: 'New collection' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Handbook');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Handbook' }).waitFor();
  await page.locator('input[type=file]').setInputFiles([guide,
    { name: 'broken.pdf', mimeType: 'application/pdf', buffer: Buffer.from('no document') }]);
  await page.getByRole('button', { name: 'Upload' }).click();
  await page.waitForLoadState();
  await read(page);
  await page.getByRole('link', { name: /broken\.pdf/ }).waitFor();
  assert.match(await page.locator('.lrow .why').innerText(), /damaged|match/i);

  // A source that can't be reached says so in words.
  await page.locator('summary', { hasText: 'Add source' }).click();
  await page.getByLabel('Address').fill('http://127.0.0.1:9/x');
  await looks(page, 'knowledge-source');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.waitForLoadState();
  await read(page);
  await page.getByText('It couldn’t be read.').waitFor();

  await page.getByRole('searchbox').fill('lunch francs');
  await page.keyboard.press('Enter');
  const hit = page.getByRole('link', { name: 'guide.md, l. 1' });
  await hit.waitFor();
  await looks(page, 'knowledge-collection');
  await hit.click();
  await page.getByText('A lunch may cost 30 francs.').waitFor();
  await looks(page, 'knowledge-document');
  await page.getByRole('link', { name: 'Back to Handbook' }).click();
  await page.getByRole('heading', { name: 'Handbook' }).waitFor();

  // A project chooses it, and its chats cite it.
  await page.goto(fawn.base + '/workspace/projects?new=1');
  await page.getByLabel('Name', { exact: true }).fill('Travel');
  await page.keyboard.press('Enter');
  await page.locator('summary', { hasText: 'Project settings' }).click();
  await page.getByLabel('Handbook').check();
  await page.locator('.task').getByRole('button', { name: 'Save' }).click();
  await page.waitForLoadState();
  await page.locator('summary', { hasText: 'Project settings' }).click();
  assert.ok(await page.getByLabel('Handbook').isChecked());
  await looks(page, 'knowledge-project');
  await page.getByRole('link', { name: 'New chat in this project' }).click();
  await send(page, 'SCRIPT' + JSON.stringify({ turns: [{ tool_calls: [{ name: 'search_documents', args: { description: 'lunch', query: 'lunch' } }] },
    { text: 'It may cost 30 francs [Handbook/guide.md, l. 3].' }] }));
  await finished(page);
  await page.getByRole('link', { name: 'Handbook/guide.md, l. 3' }).click();
  await page.locator('#panel').getByText('A lunch may cost 30 francs.').waitFor();
  await looks(page, 'knowledge-panel');

  // A chat without a project chooses it by keyboard; the choice stays with it until it is removed.
  await page.goto(fawn.base + newChat);
  const button = page.locator('#compose').getByRole('button', { name: 'Knowledge' }), chips = page.locator('#known');
  const tick = page.locator('#collections').getByRole('checkbox', { name: 'Handbook' });
  const remove = chips.getByRole('button', { name: 'Remove Handbook' });
  assert.ok(await chips.isHidden());
  await button.focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.name === 'knowledge');
  await page.keyboard.press('Space');
  await remove.waitFor();
  await looks(page, 'knowledge-pick');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.id === 'q');
  await looks(page, 'knowledge-chip');
  const script = (text) => 'SCRIPT' + JSON.stringify({ turns: [{ tool_calls: [{ name: 'search_documents', args: { description: 'lunch', query: 'lunch' } }] }, { text }] });
  const cited = page.getByRole('link', { name: 'Handbook/guide.md, l. 3' });
  await send(page, script('It may cost 30 francs [Handbook/guide.md, l. 3].'));
  await finished(page);
  await cited.click();
  await page.locator('#panel').getByText('A lunch may cost 30 francs.').waitFor();
  const chat = new URL(page.url()).pathname;
  await page.goto(fawn.base + chat);
  await remove.waitFor();
  await button.click();
  assert.ok(await tick.isChecked(), 'the choice is there after a reload');
  await page.keyboard.press('Escape');
  const kept = page.waitForResponse((r) => r.url().endsWith('/choice') && r.ok());
  await remove.click();
  await kept;
  assert.ok(await chips.isHidden());
  assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
  await page.reload();
  await button.click();
  assert.ok(!await tick.isChecked(), 'it was removed');
  await page.keyboard.press('Escape');

  // The palette finds it by other words.
  await page.keyboard.press('Control+k');
  await page.locator('#pal-q').fill('wiki');
  await page.getByRole('option', { name: 'Knowledge' }).click();
  await page.getByRole('heading', { name: 'Knowledge' }).waitFor();
  await looks(page, 'knowledge');
  await page.locator('.rows').getByRole('link', { name: 'Handbook' }).click();
  clean(page);
  await page.locator('summary', { hasText: 'Delete collection' }).click();
  await page.locator('form[action$="/delete"]').getByRole('button', { name: 'Delete collection' }).click();
  await page.getByText('No collections yet.').waitFor();
  await page.context().close();
});

test('collections speak Chinese', { skip }, async () => {
  const page = await open(browser, fawn.base, { locale: 'zh-CN' });
  await page.goto(fawn.base + '/workspace/knowledge?new=1');
  await page.getByLabel('名称').fill('员工手册');
  await page.getByRole('button', { name: '创建文档集' }).click();
  await page.getByRole('heading', { name: '员工手册' }).waitFor();
  await page.locator('input[type=file]').setInputFiles([{ name: '通知.txt', mimeType: 'text/plain', buffer: Buffer.from('放假通知：办公室从周一开始关闭两个星期。') }]);
  await page.getByRole('button', { name: '上传' }).click();
  await page.waitForLoadState();
  await read(page);
  await page.getByRole('searchbox').fill('办公室关闭');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: '通知.txt, l. 1' }).waitFor();
  await looks(page, 'knowledge-zh');
  clean(page);
  await page.context().close();
});
