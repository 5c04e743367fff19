// A bot of a chat app, set up in the settings: the token is pasted, tried and masked, an account connects itself with a
// code, writes in its chat, is seen in the list of chats, and is disconnected. With a stand-in of Telegram.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { chatApp, fits } from './chatapp.mjs';
import { clean, finished, open, send, shot, violations } from './browser.mjs';
import { until, words } from './harness.mjs';

const w = chatApp();
const { skip, app, says, visit, connectAccount, group, speak } = w;

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

test('without JavaScript, on a phone and in Chinese', { skip }, async () => {
  const page = await open(w.browser, w.fawn.base, { javaScriptEnabled: false, viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
  await visit(page);
  await app(page).getByLabel('Bot token').fill(w.chat.token);
  await app(page).getByRole('button', { name: 'Test: Telegram' }).click();
  await app(page).getByText(/Signed in as @FawnBot/).waitFor();
  await app(page).getByLabel('Bot token').fill(w.chat.token);
  await app(page).getByRole('button', { name: 'Save and connect: Telegram' }).click();
  await page.getByText('Connected as @FawnBot').waitFor();
  await app(page).getByRole('button', { name: 'Connect an account: Telegram' }).click();
  await w.chat.say('8', 'Grace', await app(page).locator('code.code').innerText());
  await says('8', 'Your account is connected');
  await shot(page, 'channels-phone-dark');
  await app(page).getByRole('link', { name: 'Check whether it worked' }).click();
  await page.getByRole('button', { name: 'Disconnect: Grace' }).waitFor();
  await speak(page, 'zh-CN');
  await visit(page);
  await page.getByText('已连接：@FawnBot').waitFor();
  await shot(page, 'channels-phone-zh');
  await page.getByRole('button', { name: '断开: Grace' }).click();
  await page.getByText('尚未连接账号').waitFor();
  clean(page);
  await page.context().close();
});

test('the list of chats is narrowed down to those from chat apps', { skip }, async () => {
  const page = await open(w.browser, w.fawn.base);
  await connectAccount(page, '9', 'Eve');
  await w.chat.say('9', 'Eve', words(2));
  await says('9', 'lorem lorem');
  await page.goto(w.fawn.base + '/workspace/chats/new');
  await send(page, words(3));
  await finished(page);
  await page.goto(w.fawn.base + '/workspace/chats');
  const rows = page.locator('.lrow'), filter = page.getByLabel('Filter by where chats began');
  await rows.first().waitFor();
  const all = await rows.count(), outside = rows.filter({ hasNot: page.locator('.chip') });
  assert.equal(await outside.count(), 1);
  assert.deepEqual(await filter.locator('option').allInnerTexts(), ['All chats', 'From chat apps'], 'one app is no choice');
  await filter.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL(/from=channels/);
  await until('the others are left out', async () => await rows.count() === all - 1 && await outside.count() === 0);
  assert.equal(await filter.inputValue(), 'channels');
  assert.deepEqual(await violations(page), []);
  await page.fill('[type="search"]', 'nothing has these words');
  await page.getByText('No results for “nothing has these words”.').waitFor();
  await page.fill('[type="search"]', 'echo');
  await until('a search keeps the filter', async () => await rows.count() > 0 && await outside.count() === 0);
  await page.goto(w.fawn.base + '/workspace/chats?from=channels');
  await shot(page, 'channels-filter');
  await page.goto(w.fawn.base + '/workspace/chats?from=slack');
  await page.getByText('No chats from Slack yet.').waitFor();
  await page.getByRole('link', { name: 'Show all chats' }).click();
  await until('all are there', async () => await rows.count() === all);
  clean(page);
  await page.context().close();

  const plain = await open(w.browser, w.fawn.base, { javaScriptEnabled: false, viewport: { width: 390, height: 844 }, locale: 'zh-CN' });
  await plain.goto(w.fawn.base + '/workspace/chats');
  await plain.getByLabel('按对话来源筛选').selectOption('来自聊天应用');
  await plain.getByRole('button', { name: '搜索', exact: true }).click();
  assert.equal(await plain.locator('.lrow').count(), all - 1);
  await fits(plain);
  await shot(plain, 'channels-filter-phone-zh');
  clean(plain);
  await plain.context().close();
});

test('a group is let in, answered when the bot is mentioned, and muted', { skip }, async () => {
  const page = await open(w.browser, w.fawn.base);
  await connectAccount(page, '7', 'Ada');
  const shown = (count) => until(`the group shows ${count}`, async () => (await w.chat.shown('-100')).filter((t) => t !== '…').length >= count);
  const inGroup = await group('-100', '7', 'Ada');
  await inGroup('echo 2 tokens'); // to the others
  await inGroup('echo 3 tokens', { Mention: true });
  await shown(2);
  await visit(page);
  await app(page).getByRole('button', { name: /^Mute: / }).click();
  await app(page).getByRole('button', { name: /^Allow: / }).waitFor();
  await inGroup('echo 4 tokens', { Mention: true });
  await until('the group is told', async () => /\/allow/.test((await w.chat.shown('-100')).at(-1)));
  await shot(page, 'channels-group');
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
