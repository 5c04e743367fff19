// A bot of a chat app, set up in the settings: the token is pasted, tried and masked, an account connects itself with a
// code, writes in its chat, is seen in the list of chats, and is disconnected. With a stand-in of Telegram.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { chatApp } from './chatapp.mjs';
import { clean, open, shot, violations } from './browser.mjs';
import { until, words } from './harness.mjs';

const w = chatApp();
const { skip, app, says, visit } = w;

test('a bot is set up, an account connected and disconnected', { skip }, async () => {
  const page = await open(w.browser, w.fawn.base);
  await visit(page);
  const token = app(page).getByLabel('Bot token');
  await token.fill('123456:wrong-token-of-nobody-at-all-in-here');
  await app(page).getByRole('button', { name: 'Test: Telegram' }).click();
  await app(page).locator('#test-telegram .notice.error').waitFor();
  assert.equal(await token.inputValue(), '123456:wrong-token-of-nobody-at-all-in-here');
  await token.fill(w.chat.token);
  await app(page).getByRole('button', { name: 'Test: Telegram' }).click();
  await app(page).getByText(/Signed in as @FawnBot in \d+ ms\./).waitFor();
  await app(page).getByRole('button', { name: 'Save and connect: Telegram' }).click();
  await page.getByText('Connected as @FawnBot').waitFor();
  assert.ok(!(await page.content()).includes(w.chat.token), 'the token is shown');
  assert.match(readFileSync(join(w.fawn.data, 'secrets.env'), 'utf8'), new RegExp(w.chat.token));

  await w.chat.say('9', 'Eve', 'let me in'); // who is told once
  await says('9', 'connected account');
  await app(page).getByRole('button', { name: 'Connect an account: Telegram' }).click();
  const code = await app(page).locator('code.code').innerText();
  assert.match(await app(page).getByRole('link', { name: 'Open Telegram' }).getAttribute('href'), /^https:\/\/t\.me\/FawnBot\?start=/);
  const other = await page.tab();
  await visit(other);
  await app(other).getByRole('button', { name: 'Connect an account: Telegram' }).click();
  await app(other).locator('code.code').waitFor();
  assert.deepEqual(await violations(other), []);
  await shot(other, 'channels-code'); // a picture leaves styles behind, which a page may not swap
  clean(other);
  await other.close();
  await w.chat.say('7', 'Ada', code);
  await page.getByText('Ada is connected.').waitFor(); // by itself
  await says('7', 'Your account is connected');
  await page.getByRole('button', { name: 'Disconnect: Ada' }).waitFor();
  assert.deepEqual(await violations(page), []);
  await shot(page, 'channels-connected');

  await w.chat.say('7', 'Ada', words(3));
  await says('7', 'lorem lorem lorem');
  await page.goto(w.fawn.base + '/workspace/chats');
  const row = page.locator('.lrow').first();
  await row.getByText('Telegram').waitFor();
  await page.locator('#threads').getByRole('img', { name: 'From Telegram' }).waitFor();
  await row.locator('a').first().click();
  await page.waitForURL(/\/workspace\/chats\/./);
  await page.locator('header.bar').getByText('Telegram').waitFor();
  assert.deepEqual(await violations(page), []);
  await shot(page, 'channels-chat');

  await visit(page);
  await page.getByRole('button', { name: 'Disconnect: Ada' }).click();
  await page.getByText('No account is connected.').waitFor();
  const before = (await w.chat.shown('7')).length;
  await w.chat.say('7', 'Ada', 'am I still in?');
  await until('the bot refuses', async () => (await w.chat.shown('7')).length > before);
  assert.match((await w.chat.shown('7')).at(-1), /connected account/);

  await page.getByText('Remove', { exact: true }).first().click();
  await page.getByRole('button', { name: 'Remove: Telegram' }).click();
  await page.locator('#channel-telegram').getByText('Not set up').waitFor();
  assert.doesNotMatch(readFileSync(join(w.fawn.data, 'secrets.env'), 'utf8'), new RegExp(w.chat.token));
  assert.ok(!w.fawn.log().includes(w.chat.token), 'the token is in the log');
  clean(page);
  await page.context().close();
});

test('nothing in the settings is wider than a phone when it is unfolded', { skip }, async () => {
  const page = await open(w.browser, w.fawn.base, { viewport: { width: 390, height: 844 } });
  await visit(page);
  const sections = await page.locator('select option').evaluateAll((all) => all.map((o) => o.value));
  assert.ok(sections.includes('channels') && sections.length > 8, String(sections));
  for (const name of sections) {
    await page.goto(`${w.fawn.base}/workspace/settings/${name}`);
    const [width, room] = await page.locator('main > .scroll').evaluate((e) => {
      for (const d of e.querySelectorAll('details')) d.open = true;
      return [e.scrollWidth, e.clientWidth];
    });
    assert.ok(width <= room, `${name}: ${width} px`);
  }
  clean(page);
});
