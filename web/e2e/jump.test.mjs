// Getting around in a chat by keyboard: to the first message, between the reader's own ones, and from a selection into the
// message box.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const post = async (url, body) => {
  const res = await fetch(fawn.base + url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  assert.equal(res.status, 200, url);
  return res.json();
};
// atTop is the reader's message at the top of the conversation.
const atTop = (page) => page.evaluate(() => {
  const top = document.querySelector('#scroll').getBoundingClientRect().top;
  return [...document.querySelectorAll('#turns .mine')].find((el) => Math.abs(el.getBoundingClientRect().top - top) < 60)?.querySelector('.you').textContent.trim();
});

test('Alt and arrows go from one own message to the next, G to the first one, without the whole chat', { skip }, async () => {
  const { thread_id: id } = await post('/threads', {});
  const messages = Array.from({ length: 300 }, (_, i) => [{ type: 'human', content: `Question ${i}` }, { type: 'ai', content: 'Some words of an answer.\n\n'.repeat(12) }]).flat();
  await post(`/threads/${id}/state`, { values: { messages } });
  const page = await open(browser, fawn.base);
  await page.goto(`${fawn.base}/workspace/chats/${id}`);
  await page.focus('#q');
  await page.keyboard.press('Alt+ArrowUp');
  await until('an own message is at the top', async () => /^Question 29\d$/.test(await atTop(page) ?? ''));
  assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
  const from = Number((await atTop(page)).split(' ')[1]);
  await page.keyboard.press('Alt+ArrowUp');
  await until('the one before', async () => (await atTop(page)) === `Question ${from - 1}`);
  await page.keyboard.press('Alt+ArrowDown');
  await until('the one behind', async () => (await atTop(page)) === `Question ${from}`);
  await page.focus('#scroll');
  await page.keyboard.press('g');
  await page.waitForURL(/at=/);
  await page.locator('.you').getByText('Question 0', { exact: true }).waitFor();
  await until('the first one is at the top', async () => (await atTop(page)) === 'Question 0');
  assert.ok(await page.locator('article.turn').count() < 200);
  clean(page);
  await page.context().close();
});

test('what is selected in an answer is quoted in the message box, by pointer and by keyboard', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ text: 'Pelicans carry fish in a pouch.\n\nThey fly in lines.' }));
  await finished(page);
  const select = () => page.evaluate(() => {
    const p = document.querySelector('article.turn.last .ans p'), s = getSelection();
    s.removeAllRanges();
    const r = document.createRange();
    r.selectNodeContents(p);
    s.addRange(r);
  });
  for (const [look, theme, width] of [['light', 'light', 1440], ['dark', 'dark', 1440], ['phone', 'light', 390]]) {
    await page.setViewportSize({ width, height: 900 });
    await page.evaluate((t) => { document.documentElement.dataset.theme = t; }, theme);
    await select();
    await page.getByRole('button', { name: 'Ask about this' }).waitFor();
    await shot(page, `ask-${look}`);
    assert.deepEqual(await violations(page), [], look);
  }
  await page.evaluate(() => getSelection().removeAllRanges());
  await page.getByRole('button', { name: 'Ask about this' }).waitFor({ state: 'hidden' });
  await page.locator('article.turn.last .ans p').last().click({ clickCount: 3 }); // selects up to what follows the answer
  await page.getByRole('button', { name: 'Ask about this' }).waitFor();
  await page.fill('#q', 'Why?');
  await select();
  await page.getByRole('button', { name: 'Ask about this' }).click();
  assert.equal(await page.inputValue('#q'), '> Pelicans carry fish in a pouch.\n\nWhy?');
  await page.fill('#q', '');
  await select();
  await page.focus('#scroll');
  await select();
  await page.keyboard.press('a');
  await page.waitForFunction(() => document.querySelector('#q').value === '> Pelicans carry fish in a pouch.\n\n');
  await page.getByRole('button', { name: 'Ask about this' }).waitFor({ state: 'hidden' });
  await page.fill('#q', '');
  await page.reload();
  await finished(page);
  await select();
  await page.keyboard.press('Control+k'); // the search box takes the selection's place
  await page.locator('#pal-q').waitFor();
  await page.keyboard.type('ask about');
  await page.locator('#pal-list [aria-selected=true]', { hasText: 'Ask about this' }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#q').value === '> Pelicans carry fish in a pouch.\n\n');
  clean(page);
  await page.context().close();
});
