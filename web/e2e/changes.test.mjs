// What a run changed: a line behind the answer, a list with the lines of each file in the panel.
// Texts that people edit there.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const dir = '/mnt/user-data';
const write = (path, content) => ({ name: 'write_file', args: { description: 'write', path: `${dir}/${path}`, content } });
const poem = Array.from({ length: 30 }, (_, i) => `Line ${i + 1}`).join('\n') + '\n';
const first = scripted(
  { tool_calls: [write('outputs/poem.txt', poem), write('outputs/shown.md', '# Shown\n'), write('workspace/notes.txt', '<img src=x onerror=alert(1)>\n')] },
  { tool_calls: [{ name: 'present_files', args: { filepaths: [`${dir}/outputs/shown.md`] } }] },
  { text: 'Three files are there.', rate: 40 });
let fawn, browser, thread;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
  const page = await open(browser, fawn.base);
  thread = await ask(page, fawn.base, first);
  await finished(page);
  await page.context().close();
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const visit = (page) => page.goto(`${fawn.base}/workspace/chats/${thread}`);
const changed = (page) => page.locator('article.turn a[href*="/changes/"]');

test('an answer ends with the files of its run, and the panel shows what changed in them', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 1280, height: 800 } });
  await visit(page);
  assert.deepEqual(await page.locator('article.turn .cards .file .nm').allInnerTexts(), ['shown.md', 'poem.txt', 'notes.txt']);
  assert.match((await changed(page).innerText()).replace(/\s+/g, ' '), /3 files changed.*\+32/);
  await changed(page).click();
  await page.waitForSelector('#panel .changes');
  assert.equal(await page.locator('#panel .changes details').count(), 3);
  assert.equal(await page.locator('#panel ins').count(), 32);
  assert.ok((await page.innerText('#panel')).includes('<img src=x onerror=alert(1)>'));
  await page.locator('#panel .changes details', { hasText: 'notes.txt' }).getByRole('link', { name: 'Open file' }).click();
  await page.waitForSelector('#panel .src');
  assert.equal(await page.innerText('#panel h2'), 'notes.txt');
  await page.keyboard.press('Escape');
  clean(page);
});

test('the page of the changes works without JavaScript and on a phone', { skip }, async () => {
  for (const options of [{ javaScriptEnabled: false }, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, javaScriptEnabled: false }]) {
    const page = await open(browser, fawn.base, options);
    await visit(page);
    await changed(page).click();
    await page.waitForURL(/\/changes\//);
    assert.equal(await page.locator('.changes details').count(), 3);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is as wide as the screen');
    await page.context().close();
  }
});

test('a text is edited in the panel, and a change made meanwhile shows both', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 1280, height: 800 } });
  const file = 'mnt/user-data/outputs/shown.md', api = `${fawn.base}/api/threads/${thread}/artifacts/${file}`;
  await page.goto(`${fawn.base}/workspace/chats/${thread}?file=${encodeURIComponent(file)}`);
  const edit = page.locator('#panel').getByRole('link', { name: 'Edit' }), box = page.locator('#panel textarea');
  // What asks is loaded with the form, and a quick hand has typed before it is there.
  let script;
  const typed = new Promise((done) => page.route('**/edit.js', async (route) => {
    script = route.request().url();
    await box.fill('# Mine\n');
    await route.continue();
    done();
  }));
  await edit.click();
  await typed;
  await page.evaluate((url) => import(url).then(() => {}), script);
  // What is not saved is not lost by a click.
  const asked = [];
  page.once('dialog', (d) => { asked.push(d.message()); d.dismiss(); });
  await page.click('#panel [data-panel-close]');
  assert.deepEqual(asked, ['Discard your changes?']);
  assert.equal(await box.inputValue(), '# Mine\n');
  await box.press('Control+s');
  await page.waitForSelector('#panel .doc');
  assert.equal((await page.innerText('#panel .doc')).trim(), 'Mine');
  assert.equal(await fetch(api).then((r) => r.text()), '# Mine\n');

  await edit.click();
  assert.equal(await box.inputValue(), '# Mine\n');
  await box.fill('# Mine again\n');
  const sum = createHash('sha256').update('# Mine\n').digest('hex');
  const put = await fetch(api, { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ content: '# Theirs\n', expected_sha256: sum }) });
  assert.equal(put.status, 200);
  await page.locator('#panel').getByRole('button', { name: 'Save' }).click();
  await page.waitForSelector('#panel .diff');
  assert.deepEqual(await page.locator('#panel .diff del, #panel .diff ins').allInnerTexts(), ['- # Theirs', '+ # Mine again']);
  assert.equal(await box.inputValue(), '# Mine again\n');
  assert.equal(await fetch(api).then((r) => r.text()), '# Theirs\n');
  await page.getByRole('button', { name: 'Save anyway' }).click();
  await page.waitForSelector('#panel .doc');
  assert.equal(await fetch(api).then((r) => r.text()), '# Mine again\n');
  await page.context().close();
});

test('earlier versions of a file are shown, compared and restored', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 1440, height: 900 } });
  const file = `${dir}/outputs/tale.md`, one = '# Tale\n\nOnce.\nEnd.\n';
  await ask(page, fawn.base, scripted(
    { tool_calls: [write('outputs/tale.md', one)] }, { tool_calls: [{ name: 'read_file', args: { description: 'read', path: file } }] },
    { tool_calls: [{ name: 'str_replace', args: { description: 'edit', path: file, old_str: 'Once.', new_str: 'Twice.' } }] },
    { tool_calls: [{ name: 'read_file', args: { description: 'read', path: file } }] }, { tool_calls: [write('outputs/tale.md', '# Tale\n\nThrice.\n')] },
    { tool_calls: [{ name: 'present_files', args: { filepaths: [file] } }] }, { text: 'It is told.' }));
  await finished(page);
  const panel = page.locator('#panel');
  if (!await panel.locator('h2', { hasText: 'tale.md' }).isVisible()) await page.locator('.cards .open', { hasText: 'tale.md' }).click();
  await panel.getByRole('link', { name: 'Versions' }).click();
  await panel.locator('.vrow').first().waitFor();
  assert.deepEqual(await panel.locator('.vrow b').allInnerTexts(), ['Version 3', 'Version 2', 'Version 1']);
  assert.match(await panel.locator('.vrow').nth(1).innerText(), /Edited by the agent/);
  await panel.getByRole('link', { name: 'Compare version 1 with the current one' }).click();
  await panel.locator('ins', { hasText: 'Thrice.' }).waitFor();
  assert.deepEqual((await panel.locator('del').allInnerTexts()).map((t) => t.trim()), ['- Once.', '- End.']);
  for (const [width, theme] of [[1440, 'light'], [1440, 'dark'], [390, 'light'], [390, 'dark']]) {
    await page.setViewportSize({ width, height: 844 });
    await page.evaluate((t) => { document.documentElement.dataset.theme = t; }, theme);
    assert.deepEqual(await violations(page), [], `versions ${theme} ${width}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'fits');
    await shot(page, `versions-${theme}-${width}`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await panel.getByRole('button', { name: 'Restore version 1' }).click();
  await page.waitForLoadState();
  await panel.getByRole('link', { name: 'Versions' }).click();
  await panel.getByText('Version 4').waitFor();
  assert.match(await panel.locator('.vrow').first().innerText(), /Restored by you/);
  const thread4 = page.url().match(/chats\/([^?/]+)/)[1];
  assert.equal(await (await page.request.get(`${fawn.base}/api/threads/${thread4}/artifacts${file}`)).text(), one);
  clean(page);
});
