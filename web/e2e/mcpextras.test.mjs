// Prompts of MCP servers are slash commands, and their resources are attached, with the real test server
// from npm; by keys, on a phone and without JavaScript.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clean, finished, launch, newChat, open, shot, violations } from './browser.mjs';
import { chromium, here, lacks, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const everything = join(here, 'node_modules', '.bin', 'mcp-server-everything');
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({ env: { DEER_FLOW_MCP_STDIO_COMMAND_ALLOWLIST: everything } }), launch()]);
  const res = await fetch(fawn.base + '/api/mcp/config', { method: 'PUT', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ mcp_servers: { all: { type: 'stdio', command: everything, args: ['stdio'], enabled: true, session_init_timeout: 60 } } }) });
  assert.equal(res.status, 200, await res.text());
  await until('prompts and resources are listed', async () => {
    const list = await (await fetch(fawn.base + '/ui/commands?thread=any', { headers: { 'X-Fawn': '1' } })).text();
    return /args-prompt/.test(list) && /data-uri/.test(list);
  });
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const option = (page, name) => page.locator('#slash:popover-open [role=option]:visible', { hasText: name });
const looks = [['light', 'light', 1280], ['dark', 'dark', 1280], ['narrow', 'light', 390]];
const pictures = async (page, name) => {
  for (const [look, colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 844 });
    await shot(page, `${name}-${look}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is too wide');
    assert.deepEqual(await violations(page), []);
  }
  await page.setViewportSize({ width: 1280, height: 844 });
};

test('a prompt is picked, told what it wants to know, and sent', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.focus('#q');
  await page.keyboard.type('/all:');
  await option(page, '/all:args-prompt').waitFor();
  await pictures(page, 'prompts');
  await page.focus('#q');
  await page.keyboard.type('simple');
  await option(page, '/all:simple-prompt').waitFor();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /simple prompt/.test(document.querySelector('#q').value));
  assert.equal(await page.evaluate(() => document.activeElement.id), 'q');

  await page.fill('#q', '/all:args');
  await option(page, '/all:args-prompt').click();
  const form = page.locator('#modal form[data-prompt]');
  await form.waitFor();
  await page.waitForFunction(() => document.querySelector('#modal').open);
  await pictures(page, 'prompt');
  await form.getByLabel('city').fill('Paris');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /weather in Paris/.test(document.querySelector('#q').value));
  await page.waitForFunction(() => !document.querySelector('#modal').open && document.activeElement.id === 'q');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await finished(page);
  const id = new URL(page.url()).pathname.split('/').pop();
  const { values } = await (await fetch(`${fawn.base}/threads/${id}/state`)).json();
  assert.match(JSON.stringify(values.messages[0].content), /weather in Paris/);
  assert.match(await page.locator('.you').first().innerText(), /weather in Paris/);
  clean(page);
});

test('a resource is attached by its name, and from the list', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.focus('#q');
  await page.keyboard.type('@all:');
  await option(page, 'architecture').first().waitFor();
  await pictures(page, 'resources-at');
  await page.focus('#q');
  await page.keyboard.type('arch');
  await option(page, 'architecture').first().waitFor();
  await page.keyboard.press('Enter');
  await page.locator('#chips .chip', { hasText: 'architecture.md' }).waitFor();
  assert.equal(await page.inputValue('#q'), '');

  await page.locator('#tools-link').click();
  await page.getByRole('link', { name: 'Attach a resource' }).click();
  await page.getByRole('button', { name: /Attach: .*features/ }).waitFor();
  await pictures(page, 'resources');
  await page.getByRole('button', { name: /Attach: .*features/ }).click();
  await page.locator('#chips .chip', { hasText: 'features.md' }).waitFor();
  await page.fill('#q', 'What do these say?');
  await page.press('#q', 'Enter');
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await finished(page);
  const id = new URL(page.url()).pathname.split('/').pop();
  const { values } = await (await fetch(`${fawn.base}/threads/${id}/state`)).json();
  assert.deepEqual(values.messages[0].additional_kwargs.files.map((f) => f.filename).sort(), ['architecture.md', 'features.md']);
  clean(page);
});

test('on a phone the form is a page', { skip }, async () => {
  const phone = await open(browser, fawn.base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await phone.goto(fawn.base + newChat);
  await phone.locator('#q').pressSequentially('/all:args');
  await option(phone, '/all:args-prompt').tap();
  await phone.waitForURL(/\/prompt\?name=/);
  await phone.getByLabel('city').fill('Lyon');
  await shot(phone, 'prompt-phone');
  await phone.getByRole('button', { name: 'Insert' }).tap();
  await phone.waitForURL(/\/chats\/new\?/);
  assert.match(await phone.inputValue('#q'), /weather in Lyon/);
  clean(phone);
});
