// A person changes the plan while the agent works on it: by keyboard, on a phone, without script.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, newChat, open, shot, violations } from './browser.mjs';
import { chromium, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ models: { planner: 'display_name: Planner, supports_thinking: true' } }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const plan = (done, ...names) => ({ tool_calls: [{ name: 'write_todos', args: { todos: names.map((content, i) => ({ content, status: i < done ? 'completed' : i === done ? 'in_progress' : 'pending' })) } }] });
const names = ['Collect the prices', 'Compare them', 'Write the report'];
const texts = (page) => page.locator('.plan .what').allInnerTexts();
const shows = (page, ...want) => page.waitForFunction((want) => JSON.stringify([...document.querySelectorAll('.plan .what')].map((s) => s.textContent)) === want, JSON.stringify(want));
const counts = (page, text) => page.waitForFunction((t) => document.querySelector('.todo summary')?.textContent.includes(t), text);

const begin = async (page, ...turns) => {
  await page.goto(fawn.base + newChat);
  await page.click('[popovertarget=models]');
  await page.click('#models label:has([value=planner])');
  await page.fill('#q', scripted(...turns));
  await page.press('#q', 'Enter');
  await page.waitForURL(/chats\/(?!new)/);
};

test('steps are added, rewritten, moved and removed while the run works, by keyboard', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await begin(page, plan(0, ...names), { text: 'First. ', gate: 'edit', tokens: 1, ...plan(1, ...names) }, { text: 'Then. ', gate: 'close', tokens: 1, ...plan(4, 'Write the report', 'Collect all prices', 'Check the sum') }, { text: 'All done.' });
  await counts(page, 'Plan 0 of 3');
  await page.focus('#plan > summary');
  await page.keyboard.press('Enter');
  assert.deepEqual(await texts(page), names);

  await page.focus('#plan-add');
  await page.keyboard.type('Check the sum');
  await page.keyboard.press('Enter');
  await shows(page, ...names, 'Check the sum');
  assert.deepEqual([await page.evaluate(() => document.activeElement.id), await page.inputValue('#plan-add')], ['plan-add', '']);

  const step = (name) => page.locator('.plan li', { hasText: name });
  await step('Compare them').locator('summary').focus();
  await page.keyboard.press('Enter');
  await step('Compare them').getByRole('button', { name: 'Remove this step' }).focus();
  await page.keyboard.press('Enter');
  await shows(page, names[0], names[2], 'Check the sum');

  await step('Write the report').locator('summary').focus();
  await page.keyboard.press('Enter');
  assert.deepEqual(await violations(page), []);
  await shot(page, 'plan-edit');
  await step('Write the report').getByRole('button', { name: 'Move up' }).focus();
  await page.keyboard.press('Enter');
  await shows(page, names[2], names[0], 'Check the sum');
  assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), 'Move up', 'the focus stays on the button');
  await page.keyboard.press('Enter'); // it is the first already

  await step('Collect the prices').locator('summary').focus();
  await page.keyboard.press('Enter');
  await step('Collect the prices').getByRole('textbox').fill('Collect all prices');
  await page.keyboard.press('Enter');
  await shows(page, names[2], 'Collect all prices', 'Check the sum');

  await page.reload();
  await shows(page, names[2], 'Collect all prices', 'Check the sum');
  await page.click('#plan > summary');
  await page.focus('#plan-add');
  await page.keyboard.type('half a th');
  await fawn.script.open('edit'); // the model's plan, which knows nothing of all this, comes in
  await counts(page, 'Plan 1 of 3');
  assert.deepEqual(await texts(page), [names[2], 'Collect all prices', 'Check the sum']);
  assert.deepEqual(await page.evaluate(() => [document.activeElement.id, document.activeElement.value]), ['plan-add', 'half a th'], 'what is being typed stays');
  await fawn.script.open('close');
  await finished(page);
  await counts(page, 'Plan 3 of 3');
  const told = (await fawn.script.requests()).map((r) => JSON.stringify(r)).filter((r) => r.includes('The user has changed the plan.'));
  assert.ok(told.length > 0 && told[0].includes('Added: Check the sum') && told[0].includes('Struck: Compare them') && told[0].includes('Rewritten: Collect all prices'));
  clean(page);
});

test('a phone changes the plan too, and another tab sees it at once', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await begin(page, plan(0, ...names), { text: 'First. ', gate: 'phone', tokens: 1 }, { text: 'Second. ' }, { text: 'Third.' });
  await counts(page, 'Plan 0 of 3');
  const phone = await open(browser, fawn.base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await phone.goto(page.url());
  await counts(phone, 'Plan 0 of 3');
  await phone.tap('#plan > summary');
  await phone.locator('.plan li summary').nth(1).tap();
  await shot(phone, 'plan-edit-phone');
  for (const b of await phone.locator('.plan [open] .btn').all()) assert.ok((await b.boundingBox()).height >= 44);
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the phone');
  await page.focus('#plan > summary');
  await page.keyboard.press('Enter');
  await page.locator('.plan li', { hasText: names[2] }).locator('summary').focus();
  await phone.locator('.plan [open]').getByRole('button', { name: 'Move down' }).tap();
  await shows(phone, names[0], names[2], names[1]);
  await shows(page, names[0], names[2], names[1]);
  assert.ok((await page.evaluate(() => document.activeElement.innerText)).includes(names[2]), 'the focus stays on the step, wherever it goes');
  await page.keyboard.press('Enter');
  await page.locator('.plan li', { hasText: names[2] }).getByRole('textbox').waitFor();
  await fawn.script.open('phone');
  await finished(page);
  clean(page);
  clean(phone);
});

test('without script the forms do the same, also when nothing runs', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await begin(page, plan(0, ...names), { text: 'One.' }, { text: 'Two.' }, { text: 'Three.' });
  await finished(page);
  const plain = await open(browser, fawn.base, { javaScriptEnabled: false });
  await plain.goto(page.url());
  await plain.click('#plan > summary');
  await plain.fill('#plan-add', 'Send it');
  await plain.click('#plan-add-go');
  await plain.click('#plan > summary');
  assert.deepEqual(await texts(plain), [...names, 'Send it']);
  const id = page.url().split('/').pop();
  await until('the state has it', async () => (await fetch(`${fawn.base}/threads/${id}/state`).then((r) => r.json())).values.todos.length === 4);
});
