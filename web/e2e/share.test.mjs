// A link to a chat: made in the dialog, read by somebody who has nothing but the link,
// taken back.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { ask, clean, copies, finished, launch, open, send, shot } from './browser.mjs';
import { chromium, lacks, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const out = '/mnt/user-data/outputs/';
let fawn, browser, thread, link;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({ shared: true }), launch()]);
  await fawn.script.rules([
    { match: 'gas boiler', script: { turns: [
      { reasoning: 'A secret thought.', text: 'I look first.', tool_calls: [{ name: 'write_file', args: { description: 'd', path: out + 'report.md', content: '# Report\n\n![c](chart.svg)\n' } },
        { name: 'write_file', args: { description: 'd', path: out + 'chart.svg', content: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 9L9 0" stroke="#17674C"/></svg>' } }] },
      { tool_calls: [{ name: 'present_files', args: { filepaths: [out + 'report.md', out + 'chart.svg'] } }] },
      { text: '## Heat pump\n\nOver ten years the heat pump is **cheaper**.\n\n![chart](chart.svg)\n\n```python\nprint(1)\n```\n\nSee [the report](/mnt/user-data/outputs/report.md).' }] } },
    { match: 'and later', script: { turns: [{ text: 'Said later.' }] } }]);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

test('the dialog makes a link, copies it, and brings it up to date', { skip }, async () => {
  const page = await open(browser, fawn.base, { permissions: ['clipboard-read', 'clipboard-write'] });
  thread = await ask(page, fawn.base, 'A heat pump or a gas boiler?');
  await finished(page);
  await page.click('#share-btn');
  const modal = page.locator('#modal[open]');
  await modal.getByRole('button', { name: 'Create link' }).click();
  link = await modal.getByLabel('Link').inputValue();
  assert.match(link, new RegExp(`^${fawn.base}/share/[A-Z2-7]{26,}$`));
  await copies(modal.getByText('Copy link'));
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), link);
  await shot(page, 'share-dialog');
  await page.keyboard.press('Escape');
  await page.waitForSelector('#share-btn.on');
  assert.equal(new URL(page.url()).pathname, `/workspace/chats/${thread}`);
  await page.waitForFunction(() => document.activeElement.id === 'share-btn');

  await send(page, 'and later');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  const visitor = await open(browser, fawn.base);
  await visitor.goto(link);
  assert.equal(await visitor.getByText('Said later.').count(), 0);
  await page.click('[popovertarget="thread-menu"]');
  await page.click('#thread-menu [href$="/share"]');
  await modal.getByText('The chat has newer messages.').waitFor();
  await modal.getByRole('button', { name: 'Update link' }).click();
  await modal.getByRole('button', { name: 'Update link' }).waitFor({ state: 'detached' });
  await visitor.reload();
  assert.equal(await visitor.getByText('Said later.').count(), 1);
  clean(page, visitor);
  await page.context().close();
  await visitor.context().close();
});

test('whoever has the link reads the chat and its files, and nothing else', { skip }, async () => {
  for (const form of [{ colorScheme: 'light' }, { colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }]) {
    const page = await open(browser, fawn.base, { ...form, permissions: ['clipboard-read', 'clipboard-write'] });
    const asked = [];
    page.on('request', (r) => asked.push(new URL(r.url()).pathname));
    const answer = await page.goto(link);
    const { 'referrer-policy': referrer, 'x-robots-tag': robots } = answer.headers();
    assert.deepEqual([referrer, robots], ['no-referrer', 'noindex, nofollow']);
    await page.getByText('Over ten years').waitFor();
    await page.waitForFunction(() => document.querySelector('.ans img').naturalWidth > 0);
    assert.equal(await page.locator('#side, #q, form, [data-act]').count(), 0);
    await page.locator('.trail summary').first().click();
    await shot(page, `shared-${form.colorScheme}`);
    assert.equal(await page.getByText('A secret thought.').count(), 0);
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(' | ')}`), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    await copies(page.locator('[data-copy=code]'));
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'print(1)\n');
    await page.getByRole('link', { name: 'the report' }).click();
    await page.locator('.filepage .md').waitFor();
    await page.waitForFunction(() => document.querySelector('.md img').naturalWidth > 0);
    await page.getByRole('link', { name: 'Back to the chat' }).click();
    await page.waitForURL(link);
    const others = asked.filter((p) => !p.startsWith('/share/') && !p.startsWith('/assets/'));
    assert.deepEqual(others, [], 'nothing but the link is asked for');
    clean(page);
    await page.context().close();
  }
});
