// Questions of the agent: answered by keyboard and without JavaScript.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ shared: true }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const question = (args) => scripted({ tool_calls: [{ name: 'ask_clarification', args }] });
const tariff = { question: 'Which electricity tariff should I use?', context: 'The report changes by about €900 between the two.',
  clarification_type: 'approach_choice', options: ['Base tariff', 'Off-peak tariff'] };
const house = { question: 'What should I know about the house?', fields: [
  { name: 'size', label: 'Size in square metres', type: 'number', required: true },
  { name: 'kind', label: 'Kind of house', type: 'select', options: ['Detached', 'Terraced'] },
  { name: 'rooms', label: 'Rooms to heat', type: 'multi_select', options: ['Kitchen', 'Bath', 'Hall'] },
  { name: 'garden', label: 'It has a garden', type: 'checkbox' },
  { name: 'since', label: 'Built on', type: 'date' },
  { name: 'note', label: 'Anything else', type: 'textarea' }] };

test('a digit chooses an answer, and the card shows it', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, question(tariff));
  await finished(page);
  const first = page.locator('article.turn').first();
  assert.match(await first.innerText(), /Waiting for you/);
  assert.doesNotMatch(await first.innerText(), /Done in|Worked/);
  await page.focus('.quest h3');
  await page.keyboard.press('1'); // is no answer: the heading isn't one
  await page.focus('.quest [name=option]');
  await page.keyboard.press('2');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  assert.match(await page.locator('.quest.calm').innerText(), /Your answer: Off-peak tariff/);
  assert.doesNotMatch(await first.innerText(), /Waiting for you/);
  assert.equal(await page.locator('.quest form').count(), 0);
  clean(page);
});

test('who types when a question comes goes on typing', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, question(tariff));
  await page.focus('#q');
  await finished(page);
  await page.waitForSelector('.quest form');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
  await page.keyboard.type('2 of them, report for 2023');
  assert.equal(await page.inputValue('#q'), '2 of them, report for 2023');
  assert.equal(await page.locator('article.turn').count(), 1, 'nothing was sent');
  await page.evaluate(() => { document.documentElement.dataset.nokeys = ''; });
  await page.focus('.quest [name=option]');
  await page.keyboard.press('1');
  assert.equal(await page.locator('article.turn').count(), 1, 'single keys are switched off');
  await page.focus('#q');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  clean(page);
});

const tabTo = async (page, what) => {
  const there = () => page.evaluate((w) => document.activeElement.matches(w), what);
  for (let i = 0; i < 300 && !await there(); i++) await page.keyboard.press('Tab'); // past the list of chats
  assert.ok(await there(), `Tab leads to ${what}`);
};

// Only keys from here on: how each kind of question is answered.
const kinds = {
  'words of one\'s own': { args: { question: 'Which town is it?', clarification_type: 'missing_info' }, said: 'Lyon',
    keys: async (page) => { await page.focus('#q'); await page.keyboard.type('Lyon'); await page.keyboard.press('Enter'); } },
  'one of several': { args: tariff, said: 'Base tariff',
    keys: async (page) => { await tabTo(page, '.quest button'); await page.keyboard.press('1'); } },
  'one of several, or something else': { args: tariff, said: 'Neither, use both',
    keys: async (page) => { await page.focus('#q'); await page.keyboard.type('Neither, use both'); await page.keyboard.press('Enter'); } },
  'a form': { args: house, said: /Size in square metres: 120\s+Kind of house: Terraced\s+Rooms to heat: Bath\s+It has a garden: yes\s+Anything else: It is old/,
    keys: async (page) => {
      const to = (what) => tabTo(page, what);
      await to('.quest [type=number]');
      await page.keyboard.type('120');
      await to('.quest select');
      await page.keyboard.press('T');
      await to('.quest fieldset label:nth-of-type(2) input');
      await page.keyboard.press('Space');
      await to('.quest .tick1 [name=f3]');
      await page.keyboard.press('Space');
      await to('.quest textarea');
      await page.keyboard.type('It is old');
      await to('.quest .primary');
      await page.keyboard.press('Enter');
    } },
};
for (const [kind, { args, keys, said }] of Object.entries(kinds)) {
  test(`a question is answered by keyboard only: ${kind}`, { skip }, async () => {
    const page = await open(browser, fawn.base);
    await ask(page, fawn.base, scripted({ tool_calls: [{ name: 'ask_clarification', args }] }));
    await finished(page);
    await keys(page);
    await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
    await finished(page);
    const card = page.locator('.quest');
    assert.match(await card.getAttribute('class'), /calm/);
    assert.match(await card.innerText(), said instanceof RegExp ? said : new RegExp(`Your answer:\\s+${said}`));
    assert.equal(await card.locator('form').count(), 0, 'it is folded to the answer');
    assert.equal(await page.innerText('.turn.last .ans'), 'done.', 'the run goes on');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
    const all = () => page.$eval('#turns', (el) => el.textContent.replace(/\s+/g, ' ')); // whether a trail is folded yet or not
    const before = await all();
    await page.reload();
    assert.equal(await all(), before);
    clean(page);
  });
}
