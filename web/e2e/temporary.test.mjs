// Chats that leave nothing, chats that are put away, and the switch for memory.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, newChat, open, send, shot, violations } from './browser.mjs';
import { chromium, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const status = async (id) => (await fetch(`${fawn.base}/threads/${id}`)).status;
// looks takes pictures of a page in both themes and on a phone, and has axe look at each.
const looks = async (page, name) => {
  for (const [look, theme, width] of [['light', 'light', 1440], ['dark', 'dark', 1440], ['phone', 'light', 390]]) {
    await page.setViewportSize({ width, height: 900 });
    await page.evaluate((t) => { document.documentElement.dataset.theme = t; }, theme);
    await shot(page, `${name}-${look}`);
    assert.deepEqual(await violations(page), [], `${name}, ${look}`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
};

test('a temporary chat is in no list, goes on after a reload, and a killed server leaves nothing of it', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.click('#temporary-on');
  await page.getByRole('heading', { name: 'Temporary chat' }).waitFor();
  await looks(page, 'temporary-new');
  await send(page, scripted({ text: 'A word about pelicans.' }));
  await page.waitForURL(/\/workspace\/chats\/(?!new)[\w-]+$/);
  await finished(page);
  const id = new URL(page.url()).pathname.split('/').pop();
  assert.equal(await page.locator(`#tl-${id}`).count(), 0);
  await looks(page, 'temporary-chat');
  await page.locator('#q').fill('a draft');
  assert.equal(await page.evaluate(() => JSON.stringify(sessionStorage).includes('a draft')), false);
  await page.locator('#q').fill('');
  const said = page.waitForResponse((r) => r.url().endsWith('/here') && r.request().method() === 'POST');
  await page.reload();
  await said;
  await page.locator('.ans').getByText('A word about pelicans.').waitFor();
  await send(page, scripted({ text: 'It goes on.' }));
  await page.locator('.ans').getByText('It goes on.').waitFor();
  await finished(page);
  assert.equal(await status(id), 200);
  await fawn.kill();
  await fawn.restart();
  await until('the chat is gone', async () => (await status(id)) === 404);
  assert.equal(existsSync(join(fawn.data, 'threads', id)), false);
  await page.evaluate(() => dispatchEvent(new Event('online'))); // the page asks when it is heard of again
  await page.waitForURL(/chats\/new\?gone=1$/);
  await page.getByText('The temporary chat has been deleted.').waitFor();
  await page.context().close(); // the kill broke requests off, so its console is not clean
});

test('a temporary chat can be kept, from the page and from the palette', { skip }, async () => {
  const page = await open(browser, fawn.base);
  for (const palette of [false, true]) {
    await page.goto(fawn.base + newChat + '?temporary=1');
    await send(page, scripted({ text: 'Worth keeping.' }));
    await page.waitForURL(/\/workspace\/chats\/(?!new)[\w-]+$/);
    await finished(page);
    const id = new URL(page.url()).pathname.split('/').pop();
    if (palette) {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').last().fill('keep this chat');
      await page.getByRole('option', { name: 'Keep this chat' }).click();
    } else await page.locator('#temporary').getByRole('button', { name: 'Keep this chat' }).click();
    await page.waitForSelector(`#tl-${id}`);
    assert.equal(await page.locator('[data-here]').count(), 0);
  }
  clean(page);
  await page.context().close();
});

test('chats are archived, tagged, and found by both', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, scripted({ text: 'Numbers of the third quarter.' }));
  await finished(page);
  await page.click('[popovertarget=thread-menu]');
  await shot(page, 'menu-tags');
  await page.locator('#thread-menu').getByRole('link', { name: 'Tags' }).click();
  const dialog = page.locator('#modal');
  for (const tag of ['work', 'Q3 report']) {
    await dialog.getByLabel('New tag').fill(tag);
    await page.keyboard.press('Enter');
    await dialog.getByText(tag.replace(' ', '-'), { exact: true }).waitFor();
  }
  await dialog.getByRole('button', { name: 'Remove tag “work”' }).click();
  await dialog.getByText('work', { exact: true }).waitFor({ state: 'detached' });
  await looks(page, 'tags');
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Escape')]);
  await page.click('[popovertarget=thread-menu]');
  await Promise.all([page.waitForEvent('load'), page.locator('#thread-menu').getByRole('button', { name: 'Archive' }).click()]);
  await page.getByTitle('Archived').waitFor();
  assert.equal(await page.locator(`#tl-${id}`).count(), 0);
  await page.goto(fawn.base + '/workspace/chats');
  assert.equal(await page.locator(`#list a[href$="${id}"]`).count(), 0);
  await Promise.all([page.waitForURL(/show=archived/), page.selectOption('#show', 'archived')]);
  await page.waitForSelector(`#list a[href$="${id}"]`);
  await looks(page, 'archived');
  await page.goto(fawn.base + '/workspace/chats?q=tag:q3-report');
  await page.waitForSelector(`#list a[href$="${id}"]`);
  clean(page);
  await page.context().close();
});

test('memory is switched off for a chat in the message box', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.click('[popovertarget=models]');
  const kept = page.waitForResponse((r) => r.url().endsWith('/choice'));
  await page.getByLabel('Use memory').uncheck();
  await kept;
  await looks(page, 'memory-switch');
  await page.keyboard.press('Escape');
  await page.getByText('Memory off').waitFor();
  await shot(page, 'memory-off');
  await send(page, scripted({ text: 'Nothing is learned.' }));
  await page.waitForURL(/\/workspace\/chats\/(?!new)[\w-]+$/);
  await finished(page);
  const id = new URL(page.url()).pathname.split('/').pop();
  assert.equal((await (await fetch(`${fawn.base}/api/threads/${id}/memory`)).json()).enabled, false);
  clean(page);
  await page.context().close();
});

test('memory is switched off in the settings, and the message box says so', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + '/workspace/settings/memory');
  const use = page.getByRole('switch', { name: 'Use memory' });
  assert.equal(await use.getAttribute('aria-checked'), 'true');
  await use.focus();
  await page.keyboard.press('Space');
  await page.locator('#use-memory [role=switch][aria-checked=false]').waitFor();
  await page.getByText('Memory is off: nothing is learned').waitFor();
  await looks(page, 'memory-settings');
  await page.goto(fawn.base + newChat);
  await page.locator('#memory-off').waitFor();
  await page.click('[popovertarget=models]');
  assert.equal(await page.getByLabel('Use memory').isDisabled(), true);
  await page.getByText('Off in Settings.').waitFor();
  await page.goto(fawn.base + '/workspace/settings/memory');
  await use.click();
  await page.locator('#use-memory [role=switch][aria-checked=true]').waitFor();
  await page.goto(fawn.base + newChat);
  await page.click('[popovertarget=models]');
  assert.equal(await page.getByLabel('Use memory').isChecked(), true);
  clean(page);
  await page.context().close();
});
