// Projects in the browser: made, given instructions and files, chats in them and moved, deleted; in both languages, both
// themes and on a phone.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, finished, launch, newChat, open, send, shot, violations } from './browser.mjs';
import { chromium, lacks, start, words } from './harness.mjs';

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

test('a project is made, used by its chats and deleted', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.getByRole('link', { name: 'Projects' }).click();
  await page.getByText('No projects yet.').waitFor();
  await looks(page, 'projects-empty');
  await page.locator('summary', { hasText: 'New project' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Annual report');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Annual report' }).waitFor();
  await page.getByRole('textbox', { name: 'Instructions' }).fill('Use euros.\nCite the page.');
  await page.getByRole('button', { name: 'Save' }).first().click();
  await page.waitForLoadState();
  assert.equal(await page.getByRole('textbox', { name: 'Instructions' }).inputValue(), 'Use euros.\nCite the page.');
  await page.locator('input[type=file]').setInputFiles([{ name: 'plan.md', mimeType: 'text/markdown', buffer: Buffer.from('# Plan') },
    { name: 'rows.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n') }]);
  await page.locator('form[action$="/upload"] button').click();
  await page.getByRole('link', { name: 'plan.md' }).waitFor();
  await page.getByRole('button', { name: 'Delete rows.csv' }).click();
  await page.getByRole('link', { name: 'rows.csv' }).waitFor({ state: 'detached' });
  await page.locator('summary', { hasText: 'Project settings' }).click();
  await page.getByLabel('Emoji').fill('📊');
  await page.getByLabel('Memory', { exact: true }).selectOption('isolated');
  await looks(page, 'project');
  await page.locator('.task').getByRole('button', { name: 'Save' }).click();
  await page.waitForLoadState();
  await page.locator('summary', { hasText: 'Project settings' }).click();
  assert.equal(await page.getByLabel('Memory', { exact: true }).inputValue(), 'isolated');

  // A chat begins in it and says so.
  await page.getByRole('link', { name: 'New chat in this project' }).click();
  await page.getByRole('link', { name: 'In project Annual report' }).waitFor();
  await looks(page, 'project-new-chat');
  await send(page, words(5));
  await finished(page);
  await page.reload();
  await page.locator('.bar').getByRole('link', { name: 'In project Annual report' }).waitFor();
  await looks(page, 'project-chat');

  // It moves out and in again by its menu.
  const move = async (to) => {
    await page.locator('[popovertarget=thread-menu]').click();
    await page.locator('#thread-menu').getByRole('link', { name: 'Move to project' }).click();
    await page.locator('#modal').getByLabel('Project', { exact: true }).selectOption(to);
    if (to) await looks(page, 'project-move');
    await page.locator('#modal').getByRole('button', { name: 'Move' }).click();
    await page.waitForLoadState();
  };
  await move({ label: 'No project' });
  await page.locator('.bar .chip').waitFor({ state: 'detached' });
  await move({ label: 'Annual report' });
  await page.locator('.bar').getByRole('link', { name: 'In project Annual report' }).click();
  await page.locator('.project .lrow').first().waitFor();

  // The list in the side bar is one stop for Tab while it is folded.
  await page.goto(fawn.base + '/workspace/chats');
  const list = page.locator('.side details.projects');
  assert.equal(await list.evaluate((d) => d.open), false);
  await list.locator('summary').focus();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), 'Knowledge');
  await list.locator('summary').focus();
  await page.keyboard.press('Enter');
  await looks(page, 'project-side');
  await list.getByRole('link', { name: 'Annual report' }).click();
  await page.getByRole('heading', { name: 'Annual report' }).waitFor();

  // The palette finds it by other words.
  await page.keyboard.press('Control+k');
  await page.locator('#pal-q').fill('folder');
  await page.getByRole('option', { name: 'Projects' }).waitFor();
  await page.getByRole('option', { name: 'Projects' }).click();
  await page.getByRole('heading', { name: 'Projects' }).waitFor();
  await looks(page, 'projects');
  await page.locator('.rows').getByRole('link', { name: 'Annual report' }).click();
  clean(page);

  await page.locator('summary', { hasText: 'Delete project' }).click();
  await page.getByLabel('Delete your chats in it too').check();
  await looks(page, 'project-delete');
  await page.locator('form[action$="/delete"]').getByRole('button', { name: 'Delete project' }).click();
  await page.getByText('1 chat deleted').waitFor();
  await page.getByText('No projects yet.').waitFor();
  await page.context().close();
});

test('projects speak Chinese', { skip }, async () => {
  const page = await open(browser, fawn.base, { locale: 'zh-CN' });
  await page.goto(fawn.base + '/workspace/projects?new=1');
  await page.getByLabel('名称').fill('年度报告');
  await page.getByRole('button', { name: '创建项目' }).click();
  await page.getByRole('heading', { name: '年度报告' }).waitFor();
  await looks(page, 'project-zh');
  clean(page);
  await page.context().close();
});
