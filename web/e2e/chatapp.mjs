// What the tests of chat apps share: a server whose Telegram is a stand-in, and what people do in both.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { launch } from './browser.mjs';
import { chromium, lacks, start, startChat, until } from './harness.mjs';

const section = '/workspace/settings/channels';

// chatApp runs a stand-in, a server that is set up for it, and a browser, for the tests of a file. It fails them when the
// bot breaks a rule of the platform.
export const chatApp = () => {
  const w = { skip: lacks('Chromium', existsSync(chromium)) };
  let dir;
  before(async () => {
    if (w.skip) return;
    dir = mkdtempSync(join(tmpdir(), 'fawn-e2e-'));
    [w.chat, w.browser] = await Promise.all([startChat(dir), launch()]);
    w.fawn = await start();
    const apps = Object.entries(w.chat.apps).map(([name, { api }]) => `  ${name}:\n    base_url: ${api}\n`);
    writeFileSync(join(w.fawn.data, 'settings.yaml'), `channels:\n${apps.join('')}`, { mode: 0o600 });
    await w.fawn.leave();
    await w.fawn.restart();
  });
  after(async () => {
    await w.browser?.close();
    await w.fawn?.stop();
    const broken = w.chat?.broken();
    await w.chat?.stop();
    if (dir) rmSync(dir, { recursive: true, force: true });
    if (!w.skip) assert.equal(broken, '');
  });
  return Object.assign(w, gestures(w));
};

const gestures = (w) => {
  const app = (page, name = 'telegram') => page.locator('#channel-' + name);
  const texts = async (who) => (await w.chat.messages(who)).map((m) => m.Text);
  const says = (who, text) => until(`the chat of ${who} shows ${text}`, async () => (await texts(who)).some((t) => t.includes(text)));

  // visit opens the section, unfolded at an app.
  const visit = (page, name = 'telegram') => page.goto(`${w.fawn.base}${section}?open=${name}`);

  // connectBot gives Telegram's bot its token.
  const connectBot = async (page) => {
    await visit(page);
    await app(page).getByLabel('Bot token').fill(w.chat.token);
    await app(page).getByRole('button', { name: 'Save and connect: Telegram' }).click();
    await page.getByText('Connected as @FawnBot').waitFor();
  };

  // connectAccount lets somebody on Telegram send the code that the page shows.
  const connectAccount = async (page, id, name) => {
    await visit(page);
    await app(page).getByRole('button', { name: 'Connect an account: Telegram' }).click();
    await w.chat.say(id, name, await app(page).locator('code.code').innerText());
    await says(id, 'Your account is connected');
    await page.getByRole('button', { name: 'Disconnect: ' + name }).waitFor();
  };

  return { app, texts, says, visit, connectBot, connectAccount };
};

// fits says that a page is no wider than its window.
export const fits = async (page) => {
  const [width, room] = await page.locator('main > .scroll').evaluate((e) => [e.scrollWidth, e.clientWidth]);
  assert.ok(width <= room, `${page.url()}: ${width} px in ${room}`);
};
