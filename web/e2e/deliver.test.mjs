// A scheduled task whose result goes to a chat app: the form offers the chat of a connected account, the run's answer is
// there once, with the task's title and its file, and nothing is sent any more when the account is disconnected. With a
// stand-in of Telegram.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatApp } from './chatapp.mjs';
import { clean, finished, open, send, shot, violations } from './browser.mjs';
import { scripted, until, words } from './harness.mjs';

const w = chatApp();
const { skip, texts, says, connectBot, connectAccount } = w;
const out = '/mnt/user-data/outputs/report.md';

const tasks = '/workspace/scheduled-tasks';
// form opens the form for a new task.
const form = async (page, words) => {
  await page.goto(w.fawn.base + tasks);
  await page.locator('summary', { hasText: words }).click();
};

test('the result of a task is sent to a chat', { skip }, async () => {
  const page = await open(w.browser, w.fawn.base);
  await form(page, 'New task');
  assert.equal(await page.getByLabel('Send the result to').count(), 0, 'no account is connected');
  await connectBot(page);
  await connectAccount(page, '7', 'Ada');

  await form(page, 'New task');
  await page.getByLabel('Title').fill('Morning report');
  await page.getByLabel('Message').fill(scripted(
    { tool_calls: [{ name: 'write_file', args: { description: 'write', path: out, content: '# Report\n' } }] },
    { tool_calls: [{ name: 'present_files', args: { filepaths: [out] } }] },
    { text: 'All is **well**.' }));
  await page.getByLabel('Send the result to').selectOption('Telegram · Ada');
  assert.deepEqual(await violations(page), []);
  await shot(page, 'deliver-form-light');
  await page.emulateMedia({ colorScheme: 'dark' });
  await shot(page, 'deliver-form-dark');
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the form is wider than a phone');
  await page.getByLabel('Send the result to').scrollIntoViewIfNeeded();
  await shot(page, 'deliver-form-phone');
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  await page.getByRole('button', { name: 'Create task' }).click();
  const row = page.locator('summary', { hasText: 'Morning report' });
  const facts = page.locator('.mrow', { has: row }).locator('.facts');
  await row.click();
  assert.match(await facts.innerText(), /Result goes to\s+Telegram · Ada/);

  const before = (await texts('7')).length;
  await page.getByRole('button', { name: 'Run now: Morning report' }).click();
  await until('the file is in the chat', async () => (await w.chat.messages('7')).at(-1).File);
  const sent = (await w.chat.messages('7')).slice(before);
  assert.deepEqual(sent.map((m) => [m.Text, m.File?.Name ?? '']), [['Morning report\n\nAll is well.', ''], ['', 'report.md']]);
  assert.equal(Buffer.from(sent[1].File.Data, 'base64').toString(), '# Report\n');
  await until('the page says so', async () => {
    await page.goto(w.fawn.base + tasks);
    await row.click();
    return (await facts.innerText()).includes('result sent');
  });
  await shot(page, 'deliver-sent');

  assert.equal((await texts('7')).filter((t) => t.includes('Morning report')).length, 1);
  clean(page);
  await page.context().close();
});

test('an answer to a message from the browser is sent to the chat as well, when that is wanted', { skip }, async () => {
  const page = await open(w.browser, w.fawn.base);
  await w.chat.say('7', 'Ada', '/new');
  await says('7', 'This is a new conversation.');
  await w.chat.say('7', 'Ada', words(4));
  await says('7', 'lorem lorem lorem lorem');
  const before = await texts('7');
  await page.goto(w.fawn.base + '/workspace/chats');
  await page.locator('.lrow', { hasText: 'Telegram' }).first().locator('a').first().click();
  await page.waitForURL(/\/workspace\/chats\/./); // and its script, which sends
  const also = page.getByLabel('Also send the answer to Telegram');
  await also.waitFor();
  await send(page, scripted({ text: 'Only here.' }));
  await page.waitForFunction(() => document.querySelector('article.turn.last .ans')?.innerText === 'Only here.');
  await finished(page);
  await also.check();
  assert.deepEqual(await violations(page), []);
  await shot(page, 'deliver-also');
  await page.setViewportSize({ width: 390, height: 844 });
  await shot(page, 'deliver-also-phone');
  await page.setViewportSize({ width: 1440, height: 900 });
  await send(page, scripted({ text: 'In *both* places.' }));
  await says('7', 'In both places.');
  await finished(page);
  assert.ok(await also.isChecked(), 'the choice stays');
  assert.deepEqual(await texts('7'), [...before, 'In both places.']);
  await page.goto(w.fawn.base + '/workspace/chats/new');
  assert.equal(await also.count(), 0, 'a new chat began in no chat app');
  const to = page.getByLabel('Send the answer to a chat app, too:');
  assert.equal(await to.inputValue(), '');
  await to.selectOption({ label: 'Telegram · Ada' });
  assert.deepEqual(await violations(page), []);
  await shot(page, 'deliver-reach-out');
  await send(page, scripted({ text: 'A first word.' }));
  await says('7', 'A first word.');
  await finished(page);
  assert.deepEqual(await texts('7'), [...before, 'In both places.', 'A first word.']);
  clean(page);
  await page.context().close();
});
