// A bot of a chat app, set up in the settings: the token is pasted, tried and masked, an account connects itself with a
// code, writes in its chat, is seen in the list of chats, and is disconnected. With a stand-in of Telegram.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clean, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, start, startChat, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const section = '/workspace/settings/channels';
let fawn, browser, chat, dir;

// serve runs Fawn with the settings of a platform that is the stand-in.
const serve = async () => {
  const f = await start();
  writeFileSync(join(f.data, 'settings.yaml'), `channels:\n  telegram:\n    base_url: ${chat.api}\n`, { mode: 0o600 });
  await f.leave();
  await f.restart();
  return f;
};

before(async () => {
  if (skip) return;
  dir = mkdtempSync(join(tmpdir(), 'fawn-e2e-'));
  [chat, browser] = await Promise.all([startChat(dir), launch()]);
  fawn = await serve();
});
after(async () => {
  await browser?.close();
  await fawn?.stop();
  const broken = chat?.broken();
  await chat?.stop();
  if (dir) rmSync(dir, { recursive: true, force: true });
  if (!skip) assert.equal(broken, '');
});

const telegram = (page) => page.locator('#channel-telegram');
const unfold = async (page) => {
  await page.goto(fawn.base + section);
  await telegram(page).locator('summary').first().click();
};
const says = (who, text) => until(`the chat of ${who} shows ${text}`, async () => (await chat.shown(who)).some((t) => t.includes(text)));

test('a bot is set up, an account connected and disconnected', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await unfold(page);
  const token = telegram(page).getByLabel('Bot token');
  await token.fill('123456:wrong-token-of-nobody-at-all-in-here');
  await telegram(page).getByRole('button', { name: 'Test: Telegram' }).click();
  await telegram(page).locator('#test-telegram .notice.error').waitFor();
  assert.equal(await token.inputValue(), '123456:wrong-token-of-nobody-at-all-in-here');
  await token.fill(chat.token);
  await telegram(page).getByRole('button', { name: 'Test: Telegram' }).click();
  await telegram(page).getByText(/Signed in as @FawnBot in \d+ ms\./).waitFor();
  await telegram(page).getByRole('button', { name: 'Save and connect: Telegram' }).click();
  await page.getByText('Connected as @FawnBot').waitFor();
  assert.ok(!(await page.content()).includes(chat.token), 'the token is shown');
  assert.match(readFileSync(join(fawn.data, 'secrets.env'), 'utf8'), new RegExp(chat.token));

  await chat.say('9', 'Eve', 'let me in'); // who is told once
  await says('9', 'connected account');
  await telegram(page).getByRole('button', { name: 'Connect an account: Telegram' }).click();
  const code = await telegram(page).locator('code.code').innerText();
  assert.match(await telegram(page).getByRole('link', { name: 'Open Telegram' }).getAttribute('href'), /^https:\/\/t\.me\/FawnBot\?start=/);
  const other = await page.tab();
  await other.goto(fawn.base + section + '?open=telegram');
  await telegram(other).getByRole('button', { name: 'Connect an account: Telegram' }).click();
  await telegram(other).locator('code.code').waitFor();
  assert.deepEqual(await violations(other), []);
  await shot(other, 'channels-code'); // a picture leaves styles behind, which a page may not swap
  clean(other);
  await other.close();
  await chat.say('7', 'Ada', code);
  await page.getByText('Ada is connected.').waitFor(); // by itself
  await says('7', 'Your account is connected');
  await page.getByRole('button', { name: 'Disconnect: Ada' }).waitFor();
  assert.deepEqual(await violations(page), []);
  await shot(page, 'channels-connected');

  await chat.say('7', 'Ada', 'echo 3 tokens');
  await until('the chat has its answer', async () => (await chat.shown('7')).at(-1)?.match(/\S+/g)?.length >= 3);
  await page.goto(fawn.base + '/workspace/chats');
  const row = page.locator('.lrow').first();
  await row.getByText('Telegram').waitFor();
  await page.locator('#threads').getByRole('img', { name: 'From Telegram' }).waitFor();
  await row.locator('a').first().click();
  await page.locator('header.bar').getByText('Telegram').waitFor();
  assert.deepEqual(await violations(page), []);
  await shot(page, 'channels-chat');

  await page.goto(fawn.base + section + '?open=telegram');
  await page.getByRole('button', { name: 'Disconnect: Ada' }).click();
  await page.getByText('No account is connected.').waitFor();
  const before = (await chat.shown('7')).length;
  await chat.say('7', 'Ada', 'am I still in?');
  await until('the bot refuses', async () => (await chat.shown('7')).length > before);
  assert.match((await chat.shown('7')).at(-1), /connected account/);

  await page.getByText('Remove', { exact: true }).first().click();
  await page.getByRole('button', { name: 'Remove: Telegram' }).click();
  await page.locator('#channel-telegram').getByText('Not set up').waitFor();
  assert.doesNotMatch(readFileSync(join(fawn.data, 'secrets.env'), 'utf8'), new RegExp(chat.token));
  assert.ok(!fawn.log().includes(chat.token), 'the token is in the log');
  clean(page);
  await page.context().close();
});

test('without JavaScript, on a phone and in Chinese', { skip }, async () => {
  const page = await open(browser, fawn.base, { javaScriptEnabled: false, viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
  await unfold(page);
  await telegram(page).getByLabel('Bot token').fill(chat.token);
  await telegram(page).getByRole('button', { name: 'Test: Telegram' }).click();
  await telegram(page).getByText(/Signed in as @FawnBot/).waitFor();
  await telegram(page).getByLabel('Bot token').fill(chat.token);
  await telegram(page).getByRole('button', { name: 'Save and connect: Telegram' }).click();
  await page.getByText('Connected as @FawnBot').waitFor();
  await telegram(page).getByRole('button', { name: 'Connect an account: Telegram' }).click();
  await chat.say('8', 'Grace', await telegram(page).locator('code.code').innerText());
  await says('8', 'Your account is connected');
  await shot(page, 'channels-phone-dark');
  await telegram(page).getByRole('link', { name: 'Check whether it worked' }).click();
  await page.getByRole('button', { name: 'Disconnect: Grace' }).waitFor();
  await page.goto(fawn.base + '/workspace/settings/appearance');
  await page.selectOption('#lang', 'zh-CN');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.goto(fawn.base + section + '?open=telegram');
  await page.getByText('已连接：@FawnBot').waitFor();
  await shot(page, 'channels-phone-zh');
  await page.getByRole('button', { name: '断开: Grace' }).click();
  await page.getByText('尚未连接账号').waitFor();
  clean(page);
  await page.context().close();
});

test('a group is let in, answered when the bot is mentioned, and muted', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + section + '?open=telegram');
  await telegram(page).getByRole('button', { name: 'Connect an account: Telegram' }).click();
  await chat.say('7', 'Ada', await telegram(page).locator('code.code').innerText());
  await page.getByRole('button', { name: 'Disconnect: Ada' }).waitFor();
  const inGroup = (text, more = {}) => chat.say('7', 'Ada', text, { Chat: '-100', Group: true, ...more });
  const shown = (count) => until(`the group shows ${count}`, async () => (await chat.shown('-100')).filter((t) => t !== '…').length >= count);
  await inGroup('/allow');
  await shown(1);
  await inGroup('echo 2 tokens'); // to the others
  await inGroup('echo 3 tokens', { Mention: true });
  await shown(2);
  await page.goto(fawn.base + section + '?open=telegram');
  await telegram(page).getByRole('button', { name: /^Mute: / }).click();
  await telegram(page).getByRole('button', { name: /^Allow: / }).waitFor();
  await inGroup('echo 4 tokens', { Mention: true });
  await until('the group is told', async () => /\/allow/.test((await chat.shown('-100')).at(-1)));
  await shot(page, 'channels-group');
  clean(page);
  await page.context().close();
});

test('nothing in the settings is wider than a phone when it is unfolded', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 390, height: 844 } });
  await page.goto(fawn.base + section);
  const sections = await page.locator('select option').evaluateAll((all) => all.map((o) => o.value));
  assert.ok(sections.includes('channels') && sections.length > 8, String(sections));
  for (const name of sections) {
    await page.goto(`${fawn.base}/workspace/settings/${name}`);
    const [width, room] = await page.locator('main > .scroll').evaluate((e) => {
      for (const d of e.querySelectorAll('details')) d.open = true;
      return [e.scrollWidth, e.clientWidth];
    });
    assert.ok(width <= room, `${name}: ${width} px`);
  }
  clean(page);
});
