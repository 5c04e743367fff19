// The tools of MCP servers in the message box: switched off for one chat, by mouse, keys, on a phone and
// without JavaScript, with the real test server from npm.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { answer, clean, finished, launch, newChat, open, send, shot, violations } from './browser.mjs';
import { chromium, here, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const bin = (name) => join(here, 'node_modules', '.bin', 'mcp-server-' + name);
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({ env: { DEER_FLOW_MCP_STDIO_COMMAND_ALLOWLIST: ['everything', 'memory'].map(bin).join(',') } }), launch()]);
  const stdio = (name, ...args) => ({ type: 'stdio', command: bin(name), args, enabled: true, session_init_timeout: 60 });
  const res = await fetch(fawn.base + '/api/mcp/config', { method: 'PUT', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ mcp_servers: { all: stdio('everything', 'stdio'), graph: stdio('memory') } }) });
  assert.equal(res.status, 200, await res.text());
  await until('the servers are connected', async () => {
    const { servers } = await (await fetch(fawn.base + '/api/mcp/status')).json();
    return servers.every((s) => s.state === 'ready');
  });
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const echo = scripted({ tool_calls: [{ name: 'all_echo', args: { message: 'over there' } }] }, { text: 'Done.' });
const result = async (id) => {
  const { values } = await (await fetch(`${fawn.base}/threads/${id}/state`)).json();
  return JSON.stringify(values.messages.findLast((m) => m.type === 'tool').content);
};
const kept = (page, act) => Promise.all([page.waitForResponse((r) => /\/tools$/.test(r.url()) && r.request().method() === 'POST' && r.ok()), act()]);
const menu = (page) => page.locator('#tools:popover-open');
const row = (page, value) => page.locator(`#tools .tswitch:has([name=on][value="${value}"])`);
const id = (page) => new URL(page.url()).pathname.split('/').pop();
const sent = async (page, text) => {
  const before = await page.locator('article.turn').count();
  await send(page, text);
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await page.waitForFunction((n) => document.querySelectorAll('article.turn').length > n, before);
  await finished(page);
};

test('a tool is switched off before the first message, and a server later', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.fill('#q', 'a draft');
  await page.getByRole('link', { name: 'Tools', exact: true }).click();
  await menu(page).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.value), 'all/');
  await page.locator('#tools summary').first().click();
  for (const [name, colorScheme, width] of [['light', 'light', 1280], ['dark', 'dark', 1280], ['narrow', 'light', 390]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 844 });
    await shot(page, 'tools-' + name);
    assert.deepEqual(await violations(page), []);
    const at = await menu(page).boundingBox();
    assert.ok(at.x >= 0 && at.x + at.width <= width && at.y >= 0 && at.y + at.height <= 844, `${name}: ${JSON.stringify(at)}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await kept(page, () => row(page, 'all/echo').click());
  await page.keyboard.press('Escape');
  await menu(page).waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.activeElement.id === 'tools-link');
  assert.ok(await page.getByRole('link', { name: 'Tools (some are off)' }).isVisible());
  assert.equal(await page.inputValue('#q'), 'a draft');
  await sent(page, echo);
  assert.match(await result(id(page)), /no tool named/);

  await page.reload(); // and by keys alone
  await page.locator('#tools-link').focus();
  await page.keyboard.press('Enter');
  await menu(page).waitFor();
  await page.waitForFunction(() => document.activeElement.value === 'all/');
  assert.equal(await row(page, 'all/echo').locator('[name=on]').isChecked(), false);
  await kept(page, () => page.keyboard.press('Space'));
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.evaluate(() => document.activeElement.value), 'all/echo');
  await kept(page, () => page.keyboard.press('Space'));
  await page.keyboard.press('Escape');
  await sent(page, echo);
  assert.match(await result(id(page)), /no tool named/, 'its server is off as a whole');

  await page.locator('#tools-link').click();
  await kept(page, () => row(page, 'all/').click());
  await page.keyboard.press('Escape');
  await sent(page, echo);
  assert.match(await result(id(page)), /over there/);
  assert.match(await answer(page), /Done/);
  clean(page);
});

test('on a phone', { skip }, async () => {
  const phone = await open(browser, fawn.base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await phone.goto(fawn.base + newChat);
  await phone.locator('#tools-link').tap();
  await menu(phone).waitFor();
  await kept(phone, () => row(phone, 'graph/').tap());
  assert.equal(await row(phone, 'graph/').getByRole('switch').isChecked(), false);
  clean(phone);
});
