// Custom agents in the browser: made by talking, talked to and called by @name.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { answer, clean, finished, launch, newChat, open, send, shot, violations } from './browser.mjs';
import { chromium, lacks, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const soul = 'You are a poet. Answer in two lines that rhyme.';
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
  await fawn.script.rules([
    { match: 'called “poet”', script: { turns: [{ text: 'What should it write about?' }] } },
    { match: 'About the sea', script: { turns: [{ tool_calls: [{ name: 'setup_agent', args: { soul, description: 'Writes short verse' } }] }, { text: 'The poet is ready.' }] } },
    { match: 'more cheerful', script: { turns: [{ tool_calls: [{ name: 'update_agent', args: { soul: soul + ' Be cheerful.' } }] }, { text: 'Updated.' }] } },
    { match: 'verse', script: { turns: [{ text: 'The sea is wide, the gulls abide.' }] } },
  ]);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

// prompt is the system prompt of the newest request of a run.
const prompt = async () => {
  const list = (await fawn.script.requests()).filter((r) => r.body.messages?.[0]?.role === 'system');
  return list.at(-1).body.messages[0].content;
};
const shelf = () => join(fawn.data, 'users', 'default', 'agents');
const partner = (page) => page.locator('.bar a.chip').innerText();

test('an agent is made by talking, answers in its chat and changes itself', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.getByRole('link', { name: 'Agents', exact: true }).click();
  await page.getByText('You haven’t made any agents yet').waitFor();
  await page.getByRole('link', { name: 'New agent' }).click();
  const card = page.locator('form', { has: page.getByRole('heading', { name: 'Create by talking' }) });
  await card.getByLabel('Name').fill('a b');
  await card.getByRole('button', { name: 'Start chat' }).click();
  await card.getByRole('alert').getByText('letters, digits and hyphens').waitFor();
  await card.getByLabel('Name').fill('Poet');
  await card.getByRole('button', { name: 'Start chat' }).click();
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await finished(page);
  assert.match(await answer(page), /What should it write about/);
  await page.getByText('Creating the agent poet').waitFor({ state: 'attached' });
  assert.match(await prompt(), /called `poet`/);
  await send(page, 'About the sea');
  await page.getByText('The poet is ready.').waitFor();
  await finished(page);
  await page.locator('.turn.last .trail').getByText('Created the agent').waitFor({ state: 'attached' }); // the trail may be folded
  assert.equal(readFileSync(join(shelf(), 'poet', 'SOUL.md'), 'utf8'), soul);
  await send(page, 'Now a verse');
  await page.getByText('gulls abide').waitFor();
  await finished(page);
  assert.equal(await partner(page), 'poet', 'the chat goes on with the agent that was made in it');
  assert.ok((await prompt()).includes(soul));
  await send(page, 'Be more cheerful from now on');
  await page.getByText('Updated.', { exact: true }).waitFor();
  await finished(page);
  assert.match(readFileSync(join(shelf(), 'poet', 'SOUL.md'), 'utf8'), /Be cheerful/);
  await page.reload();
  assert.equal(await partner(page), 'poet');
  await shot(page, 'thread');
  clean(page);
  await page.context().close();
});

test('@ lists the agents, keys pick one, and the chat is handed over and back', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.focus('#q');
  await page.keyboard.type('@');
  await page.locator('#slash:popover-open #at-poet').waitFor();
  await shot(page, 'mention');
  const active = () => page.evaluate(() => document.getElementById(document.querySelector('#q').getAttribute('aria-activedescendant'))?.dataset.text);
  assert.equal(await active(), '@poet ');
  await page.keyboard.press('ArrowDown');
  assert.equal(await active(), '@fawn ');
  await page.keyboard.press('Escape');
  await page.fill('#q', '');
  await page.keyboard.type('@p');
  await page.locator('#slash:popover-open #at-poet').waitFor();
  await page.keyboard.press('Enter');
  assert.equal(await page.inputValue('#q'), '@poet ');
  await page.keyboard.type('a verse, please');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await finished(page);
  await page.waitForFunction(() => document.querySelector('.bar a.chip')?.innerText.trim() === 'poet');
  assert.match(await prompt(), /You are poet,/);
  const left = page.waitForEvent('load');
  await send(page, '@fawn and you?');
  await left;
  await finished(page);
  assert.equal(await page.locator('.bar a.chip').count(), 0);
  assert.equal(await page.inputValue('#q'), '', 'what was sent is not a draft');
  assert.match(await prompt(), /You are Fawn,/);
  clean(page);
  await page.context().close();
});

for (const form of [{ name: 'light', colorScheme: 'light' }, { name: 'dark', colorScheme: 'dark' }, { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 } }]) {
  test(`the pages of an agent are accessible, ${form.name}`, { skip }, async () => {
    const page = await open(browser, fawn.base, form);
    for (const [what, path] of [['gallery', '/workspace/agents'], ['edit', '/workspace/agents/poet'], ['new', '/workspace/agents/new'], ['chat', newChat + '?agent=poet']]) {
      await page.goto(fawn.base + path);
      for (const s of await page.locator('main details > summary').all()) await s.click();
      assert.deepEqual(await violations(page), [], what);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), what + ' scrolls sideways');
      await shot(page, `${what}-${form.name}`);
    }
    clean(page);
    await page.context().close();
  });
}
