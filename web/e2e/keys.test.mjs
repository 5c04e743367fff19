// The keyboard: the palette, every shortcut, single keys off, and a focus that is
// never lost.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, newChat, open, shot } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let fawn, browser, first, second;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
  await fawn.script.rules([{ match: 'lighthouse', script: { turns: [{ text: 'A tower with a lamp.\n\n'.repeat(40) }] } }, { match: 'anchor', script: { turns: [
    { tool_calls: [{ name: 'ls', args: { description: 'Look', path: '/mnt/user-data/workspace' } }] }, { text: 'It holds a ship.' }] } }]);
  const page = await open(browser, fawn.base);
  first = await ask(page, fawn.base, 'What is a lighthouse?');
  await finished(page);
  second = await ask(page, fawn.base, 'What is an anchor?');
  await finished(page);
  await page.context().close();
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const focused = (page) => page.evaluate(() => document.activeElement !== document.body && document.activeElement.isConnected);
const blur = (page) => page.evaluate(() => { document.querySelector('#scroll').tabIndex = -1; document.querySelector('#scroll').focus(); });
const option = (page) => page.locator('#pal-list [aria-selected=true]');
const at = (page, id) => page.waitForURL(`**/workspace/chats/${id}*`);

test('the palette finds chats by what was said, and commands, without a mouse', { skip }, async () => {
  for (const form of [{ colorScheme: 'light' }, { colorScheme: 'dark', viewport: { width: 390, height: 844 } }]) {
    const page = await open(browser, fawn.base, form);
    const early = [];
    page.on('request', (r) => { if (/palette/.test(r.url())) early.push(r.url()); });
    await page.goto(`${fawn.base}/workspace/chats/${second}`);
    assert.deepEqual(early, []);
    await page.focus('#q');
    await page.keyboard.press('Control+k');
    await option(page).waitFor();
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run(document.querySelector('dialog'), { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`), []);
    await shot(page, `palette-${form.colorScheme}`);
    const one = await option(page).innerText();
    await page.keyboard.press('ArrowDown');
    assert.notEqual(await option(page).innerText(), one);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.activeElement?.id === 'q' && !document.querySelector('dialog[open]'));
    await page.keyboard.press('Control+k');
    await page.locator('#pal-q').pressSequentially('lamp');
    await page.waitForFunction(() => /lighthouse/.test(document.querySelector('#pal-list [aria-selected=true]')?.textContent));
    await page.keyboard.press('Enter');
    await at(page, first);
    await page.keyboard.press('Control+k');
    await page.locator('#pal-q').pressSequentially('nothing has this');
    await page.locator('#pal-list .hint').waitFor();
    await page.locator('#pal-q').fill('all chats');
    await page.waitForFunction(() => document.querySelector('#pal-list [aria-selected=true]')?.textContent.trim() === 'All chats');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/workspace/chats');
    clean(page);
    await page.context().close();
  }
});

test('the palette changes the theme, renames, pins and deletes by words people use for it', { skip }, async () => {
  const page = await open(browser, fawn.base, { colorScheme: 'light' });
  await page.goto(`${fawn.base}/workspace/chats/${first}`);
  const run = async (words, label) => {
    await page.keyboard.press('Control+k');
    await page.locator('#pal-q').fill(words);
    await page.waitForFunction((l) => document.querySelector('#pal-list [aria-selected=true]')?.textContent.trim() === l, label);
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => !document.querySelector('.pal'));
  };
  await run('night dark', 'Theme: dark');
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
  await page.reload();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark', 'the choice is kept');
  await run('theme light', 'Theme: light');
  await run('title name', 'Rename');
  await page.waitForFunction(() => document.activeElement.closest('#thread-menu')?.matches(':popover-open'));
  await page.keyboard.press('Escape');
  await run('favorite', 'Pin to the top');
  await page.waitForFunction(() => document.querySelector('#thread-menu [name=pinned][value=false]'));
  await run('favourite', 'Unpin');
  await page.waitForFunction(() => document.querySelector('#thread-menu [name=pinned][value=true]'));
  await run('public link', 'Share');
  await page.waitForSelector('#modal[open]');
  await page.keyboard.press('Escape');
  const [file] = await Promise.all([page.waitForEvent('download'), run('download markdown', 'Export as Markdown')]);
  assert.match(file.suggestedFilename(), /\.md$/);
  await run('trash', 'Delete');
  await page.waitForSelector('#thread-menu-del[open]');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.locator('#pal-q').fill('cancel');
  await page.waitForFunction(() => !document.querySelector('#pal-list')?.textContent.includes('All chats'));
  assert.equal(await page.getByText('Stop the run').count(), 0, 'nothing runs');
  await page.keyboard.press('Escape');
  clean(page);
  await page.context().close();
});

test('each shortcut does what the list of them says', { skip }, async () => {
  const page = await open(browser, fawn.base, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.goto(`${fawn.base}/workspace/chats/${second}`);
  const press = async (key) => { await page.keyboard.press(key); };
  await press('Control+/');
  await page.locator('.pal dl').waitFor();
  assert.match(await page.locator('.pal dl').innerText(), /Ctrl B/);
  await shot(page, 'keys');
  await press('Escape');
  await page.waitForFunction(() => !document.querySelector('.pal'));

  await blur(page);
  await press('/');
  await page.waitForFunction(() => document.activeElement?.id === 'q');
  await press('j');
  assert.equal(await page.inputValue('#q'), 'j');
  await page.fill('#q', '');

  await blur(page);
  await press('t');
  await page.locator('.turn.last .trail[open]').waitFor();
  await press('t');
  await page.waitForFunction(() => !document.querySelector('.turn.last .trail[open]'));
  assert.ok(await focused(page));

  await press('c');
  await page.waitForFunction(async () => /holds a ship/.test(await navigator.clipboard.readText()));

  await press('f');
  await page.locator('#panel:not([hidden])').waitFor();
  await press('Control+.');
  await page.waitForFunction(() => document.querySelector('#panel').hidden);
  assert.ok(await focused(page));

  await press('Control+b');
  await page.waitForFunction(() => !document.querySelector('#side').checkVisibility({ visibilityProperty: true }));
  await page.locator('.menu-btn').waitFor();
  await page.waitForFunction(async () => (await cookieStore.get('fawn_prefs'))?.value.includes('side=off'));
  await page.reload();
  assert.equal(await page.locator('#side').isVisible(), false);
  await press('Control+b');
  await page.locator('#side').waitFor();

  await blur(page);
  await press('e');
  await page.locator('.rewrite textarea').waitFor();
  await page.waitForFunction(() => document.activeElement?.matches('.rewrite textarea'));
  await press('Escape');
  await page.waitForFunction(() => !document.querySelector('.rewrite'));
  assert.ok(await focused(page));

  await blur(page);
  await press('r');
  await page.locator('.versions').waitFor();
  await finished(page);
  assert.ok(await focused(page));

  await press('Control+,');
  await page.waitForURL('**/settings/appearance');
  await press('Control+Shift+O');
  await page.waitForURL('**' + newChat);
  clean(page);
});

test('single keys go from turn to turn, and off means off', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(`${fawn.base}/workspace/chats/${first}`);
  await page.fill('#q', 'What is an anchor?');
  await page.press('#q', 'Enter');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  const turns = await page.evaluate(() => [...document.querySelectorAll('article.turn')].map((t) => t.id));
  const here = (id) => page.waitForFunction((id) => document.activeElement?.id === id, id);
  await blur(page);
  await page.keyboard.press('k');
  await here(turns[0]);
  await page.keyboard.press('j');
  await here(turns[1]);
  await page.goto(fawn.base + '/workspace/settings/appearance');
  const saved = page.waitForResponse((r) => r.url().endsWith('/ui/prefs'));
  await page.selectOption('#keys', 'off');
  await saved;
  await page.goto(`${fawn.base}/workspace/chats/${second}`);
  await blur(page);
  await page.keyboard.press('f');
  await page.keyboard.press('/');
  await page.keyboard.press('Control+k');
  await option(page).waitFor();
  assert.equal(await page.locator('#panel').isVisible(), false);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.activeElement?.id === 'scroll');
  clean(page);
});
