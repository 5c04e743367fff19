// Memory in the browser: learned from a chat, told in another one, named under its answer,
// changed, switched off for a chat, exported and imported.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answer, finished, launch, newChat, open, send, shot, violations } from './browser.mjs';
import { chromium, lacks, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

const fact = (content, category) => ({ content, category, confidence: 0.95, scope: 'user', durability: 'durable', authority: 'descriptive' });
const learned = JSON.stringify({
  user: { workContext: { summary: 'Builds wooden boats.', shouldUpdate: true, scope: 'user', authority: 'descriptive' } },
  newFacts: [fact('Prefers metric units', 'preference'), fact('Lives in Lisbon', 'context'), { ...fact('Wants this table sorted', 'context'), scope: 'thread' }],
});

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({ memory: 'model_name: script, debounce_seconds: 1' }), launch()]);
  await fawn.script.rules([
    // What is learned from the other chat comes at some time, and must not undo what a test does.
    { match: '<person>How long is the pier', script: { turns: [{ text: '{}' }] } },
    { match: 'You keep the long-term memory', script: { turns: [{ text: learned }] } },
    { match: 'I moved to Lisbon', script: { turns: [{ text: 'Noted: Lisbon, and metres.' }] } },
    { match: 'How long is the pier', script: { turns: [{ text: 'About 300 metres.' }] } },
  ]);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const memory = () => fetch(fawn.base + '/api/memory').then((r) => r.json());
const looks = [['light', 'light', 1280], ['dark', 'dark', 1280], ['narrow', 'light', 390]];
const pictures = async (page, name) => {
  assert.deepEqual(await violations(page), []);
  for (const [look, colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is too wide');
    await shot(page, `${name}-${look}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 900 });
};

test('what one chat teaches is used in another, which says so', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await send(page, 'I moved to Lisbon, and I prefer metric units.');
  await finished(page);
  await until('the facts', async () => (await memory()).facts.length === 2);
  const first = page.url();

  await page.goto(fawn.base + newChat);
  await send(page, 'How long is the pier, in the units I like?');
  await finished(page);
  assert.match(await answer(page), /300 metres/);
  const asked = JSON.stringify(await fawn.script.requests());
  assert.ok(asked.includes('Prefers metric units') && asked.includes('Builds wooden boats.'), 'the model was told');
  assert.ok(!asked.includes('Wants this table sorted'), 'what was about one chat only is not told');

  await page.getByRole('link', { name: 'Used 3 memories' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: 'Memories used in this answer' }).waitFor();
  await dialog.getByText('Prefers metric units').waitFor();
  await pictures(page, 'used');
  await dialog.getByRole('link', { name: 'From a chat' }).first().click();
  await page.waitForURL((u) => u.pathname === new URL(first).pathname); // and its script, which opens dialogs
  await page.getByText('I moved to Lisbon, and I prefer metric units.').first().waitFor();
  assert.equal(new URL(page.url()).pathname, new URL(first).pathname);

  await page.locator('button[popovertarget="thread-menu"]').click();
  await page.locator('#thread-menu').getByRole('link', { name: 'Memory in this chat' }).click();
  await dialog.getByText('Learned from this chat: 2 memories').waitFor();
  await pictures(page, 'chat');
  await dialog.getByRole('button', { name: 'Turn off' }).click();
  await dialog.getByText('Memory is off for this chat').waitFor();
  await dialog.getByRole('button', { name: 'Turn on' }).click();
  await dialog.getByRole('button', { name: 'Delete these memories' }).click();
  await dialog.getByText('Deleted what Fawn learned from this chat.').waitFor();
  assert.equal((await memory()).facts.length, 0);
  await dialog.getByRole('button', { name: 'Undo' }).click();
  await dialog.getByText('Learned from this chat: 2 memories').waitFor();
});
