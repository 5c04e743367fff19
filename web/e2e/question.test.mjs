// Questions of the agent: answered by keyboard and without JavaScript.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
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
  await page.focus('.quest h3');
  await page.keyboard.press('2');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  assert.match(await page.locator('.quest.calm').innerText(), /Your answer: Off-peak tariff/);
  assert.equal(await page.locator('.quest form').count(), 0);
  clean(page);
});

test('a form is answered without JavaScript', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, question(house));
  await finished(page);
  const context = await browser.newContext({ javaScriptEnabled: false });
  context.setDefaultTimeout(90_000);
  try {
    const plain = await context.newPage();
    await plain.goto(page.url());
    await plain.fill('.quest [type=number]', '120');
    await plain.selectOption('.quest select', { label: 'Terraced' });
    await plain.check('.quest label:has-text("Bath") input');
    await plain.click('.quest .primary');
    await plain.waitForSelector('.quest.calm');
    assert.match(await plain.locator('.turn').last().locator('.you').innerText(), /Size in square metres: 120\nKind of house: Terraced\nRooms to heat: Bath/);
  } finally {
    await context.close();
  }
});
