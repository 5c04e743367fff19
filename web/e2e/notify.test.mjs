// Notifications: offered after a long run, shown only for a tab that nobody sees and only
// with everybody's consent, and told about honestly where a browser has none.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, newChat, open, send, shot } from './browser.mjs';
import { chromium, held, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;
const settings = '/workspace/settings/notifications';

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({ config: 'server: {hosts: [fawn.lan]}\n' }), launch()]);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

// visitor is a page whose browser answers about notifications as permission says, and keeps
// what is shown in window.shown. A tab in front of nobody is one by window.away.
const visitor = async (permission, base = fawn.base, by = browser) => {
  const page = await open(by, base);
  await page.context().addInitScript((permission) => {
    window.away = false;
    window.shown = [];
    window.late = 0;
    Object.defineProperty(Document.prototype, 'hidden', { get: () => window.away });
    const now = Date.now;
    Date.now = () => now() + window.late;
    if (!permission) return;
    window.Notification = class {
      static permission = permission;
      static async requestPermission() { return (Notification.permission = permission === 'default' ? 'granted' : permission); }
      constructor(title, options) { Object.assign(this, { title, ...options }); window.shown.push(this); }
      close() { this.closed = true; }
    };
    window.focus = () => { window.focused = true; };
  }, permission);
  return page;
};
const away = (page, yes) => page.evaluate((yes) => { window.away = yes; document.dispatchEvent(new Event('visibilitychange')); }, yes);
const shown = (page) => page.evaluate(() => window.shown.map((n) => `${n.title}: ${n.body}`));
const switchOn = async (page) => {
  await page.goto(fawn.base + settings);
  await page.locator('[name=notify][value=on]').check();
  await page.waitForFunction(() => document.querySelector('#saved').textContent.includes('✓'));
};

test('a hidden tab tells once, a visible one never, and a click leads back', { skip }, async () => {
  const page = await visitor('granted');
  await switchOn(page);
  await page.getByText('Your browser allows notifications from this page.').waitFor();
  await ask(page, fawn.base, scripted({ text: 'Seen.' }));
  await finished(page);
  assert.deepEqual(await shown(page), []);

  await page.goto(fawn.base + newChat);
  await ask(page, fawn.base, held('one', 3));
  await page.waitForSelector('#turns[data-running] .ans .md');
  await away(page, true);
  await fawn.script.open('one');
  await until('it is told', async () => (await shown(page)).length);
  const [told] = await shown(page);
  assert.match(told, /^The answer is ready: ./);
  assert.match(await page.title(), /^\(●\) /);
  await page.evaluate(() => window.shown[0].onclick());
  assert.deepEqual(await page.evaluate(() => [window.focused, window.shown[0].closed]), [true, true]);
  await away(page, false);
  await finished(page);
  assert.doesNotMatch(await page.title(), /●/);
  assert.equal((await shown(page)).length, 1);

  for (const [turn, words] of [
    [{ text: 'x', gate: 'two', tool_calls: [{ name: 'ask_clarification', args: { question: 'Which town?', clarification_type: 'missing_info' } }] }, 'The agent is waiting for your answer'],
    [{ text: 'x', gate: 'three', error: { status: 401, message: 'no' } }, 'The run failed'],
  ]) {
    const before = (await shown(page)).length;
    await send(page, scripted({ tool_calls: [{ name: 'ls', args: { description: 'look', path: '/mnt/user-data' } }], text: 'wait', gate: turn.gate, tokens: 1 }, { ...turn, gate: undefined }));
    await page.waitForSelector('#turns[data-running] article.turn.last[aria-busy]');
    await away(page, true);
    await fawn.script.open(turn.gate);
    await until(words, async () => (await shown(page)).length > before);
    assert.match((await shown(page)).at(-1), new RegExp('^' + words));
    await away(page, false);
    await page.waitForFunction(() => !document.querySelector('#turns').hasAttribute('data-running'));
  }
  clean(page);
  await page.context().close();
});

test('what was not wanted is not told: off, of one kind, or refused by the browser', { skip }, async () => {
  for (const [permission, kinds] of [['granted', true], ['denied', false]]) {
    const page = await visitor(permission);
    await switchOn(page);
    if (kinds) {
      await page.getByLabel('has finished').uncheck();
      await until('it is stored', async () => (await page.context().cookies()).some((c) => /notify_finished=off/.test(c.value)));
      await page.reload();
      assert.deepEqual(await page.locator('[type=checkbox]').evaluateAll((l) => l.map((e) => e.checked)), [false, true, true]);
    } else {
      await page.getByText('Your browser blocks notifications from this page.').waitFor();
      await shot(page, 'notify-denied');
    }
    await ask(page, fawn.base, held(permission, 3));
    await page.waitForSelector('#turns[data-running] .ans .md');
    await away(page, true);
    await fawn.script.open(permission);
    await page.waitForFunction(() => document.title.startsWith('(●) ')); // the title says it in any case
    assert.deepEqual(await shown(page), []);
    clean(page);
    await page.context().close();
  }
});

test('after a long run they are offered once', { skip }, async () => {
  for (const answer of ['Notify me', 'No, thanks']) {
    const page = await visitor('default'), gate = 'offer ' + answer.length;
    await ask(page, fawn.base, scripted({ text: 'Quick.' }));
    await finished(page);
    await send(page, held(gate, 3));
    await page.waitForSelector('#turns[data-running] article.turn.last .ans .md');
    assert.equal(await page.locator('#notify-offer').count(), 0);
    await page.evaluate(() => { window.late = 40_000; });
    await fawn.script.open(gate);
    const offer = page.locator('#notify-offer');
    await offer.waitFor();
    await shot(page, 'notify-offer');
    await offer.getByRole('button', { name: answer }).click();
    await until('it is stored', async () => (await page.context().cookies()).some((c) => c.value.includes(answer === 'Notify me' ? 'notify=on' : 'notify=off')));
    assert.equal(await offer.count(), 0);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
    clean(page);
    await page.context().close();
  }
});

test('where browsers have none, and without JavaScript, the settings say so', { skip }, async () => {
  const host = await launch({ args: ['--host-resolver-rules=MAP fawn.lan 127.0.0.1'] });
  try {
    const base = fawn.base.replace('127.0.0.1', 'fawn.lan');
    const far = await open(host, base);
    await far.goto(base + settings);
    await far.getByText('This page was loaded over plain HTTP from another machine.').waitFor();
    clean(far);
    await far.context().close();
  } finally {
    await host.close();
  }
  const page = await open(browser, fawn.base, { javaScriptEnabled: false });
  await page.goto(fawn.base + settings);
  assert.match(await page.innerText('#notify noscript'), /Notifications need JavaScript\./);
  await page.getByLabel('On', { exact: true }).check();
  await page.getByLabel('has failed').uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.waitForURL(/notifications\?saved=1/);
  assert.deepEqual(await page.locator('input:checked').evaluateAll((l) => l.map((e) => e.name)), ['notify', 'notify_finished', 'notify_question']);
  await page.context().close();
});
