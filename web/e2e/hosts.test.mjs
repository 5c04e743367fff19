// Hosts that commands may not reach: the card in the chat with its four answers,
// with and without JavaScript, and the list of what is open in the settings.
// The addresses are of this machine, and most likely nobody listens there.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open, send, shot } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

let fawn, browser, networked;
const skip = lacks('Chromium', existsSync(chromium));

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({ shared: true, config: 'sandbox: {network: {allow_private: [127.77.0.0/16]}}\n' }), launch()]);
  const { sandbox } = await fetch(fawn.base + '/health').then((r) => r.json());
  networked = sandbox.provider === 'namespace' || sandbox.provider === 'docker';
  lacks('a sandbox with a network', networked);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

// knock asks the proxy of the sandbox for a host and prints the first line of its answer.
const knock = (host) => `d=tcp; exec 3<>/dev/$d/127.0.0.1/3128 && printf 'CONNECT ${host}:443 HTTP/1.1\\r\\nHost: ${host}:443\\r\\n\\r\\n' >&3 && head -n 1 <&3`;
const bash = (command) => ({ tool_calls: [{ name: 'bash', args: { description: 'look', command } }] });
const tries = (...hosts) => scripted(...hosts.map((h) => bash(knock(h))), { text: 'Tried.' });
const card = (page, host) => page.locator('#network form.ask', { hasText: host });
const results = async (thread) => {
  const { values } = await fetch(`${fawn.base}/threads/${thread}/state`).then((r) => r.json());
  return values.messages.filter((m) => m.type === 'tool').map((m) => m.content);
};
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const accessible = async (page) => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run(document.querySelector('#network'), { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] }));
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' '))}`), []);
};

test('a command pauses at a host nobody decided about, the page asks, and it goes on by itself', { skip }, async (t) => {
  if (!networked) return t.skip('no sandbox with a network');
  const page = await open(browser, fawn.base);
  // The command begins when the page of the thread follows the run: only then is the question news.
  const wait = `until [ -e ../uploads/go.txt ]; do sleep 0.1; done; ${knock('127.77.1.1')}`;
  const thread = await ask(page, fawn.base, scripted(bash(wait), { text: 'Through.' }));
  await page.waitForLoadState('load');
  const go = new FormData();
  go.append('files', new Blob(['go']), 'go.txt');
  assert.equal((await fetch(`${fawn.base}/api/threads/${thread}/uploads`, { method: 'POST', body: go })).status, 200);
  await card(page, '127.77.1.1').getByText('Allow 127.77.1.1?').waitFor();
  await page.getByText('The command is paused').waitFor();
  await page.waitForFunction(() => /Waiting for you/.test(document.querySelector('.turn.last .trail > summary').textContent));
  await page.waitForFunction(() => document.querySelector('#say').textContent === 'The agent wants to connect to 127.77.1.1');
  await accessible(page);
  await shot(page, 'hosts-card');
  const status = await fetch(`${fawn.base}/ui/threads/${thread}/status`, { headers: { 'X-Fawn': '1' } }).then((r) => r.json());
  assert.deepEqual([status.running, status.state], [true, 'waiting'], 'a tab nobody sees is told');
  const other = await page.tab(); // a second tab shows the same, and so does a reload
  await other.goto(page.url());
  await other.getByText('The command is paused').waitFor();
  const plain = await open(browser, fawn.base, { javaScriptEnabled: false });
  await plain.goto(page.url());
  assert.match(await plain.innerText('.turn.last .trail > summary'), /Waiting for you/);
  await card(plain, '127.77.1.1').getByRole('button', { name: 'In this chat' }).click();
  await finished(page);
  await finished(other);
  await page.waitForFunction(() => !document.querySelector('#network form'));
  assert.equal((await results(thread)).length, 1, 'the command ran once');
  assert.match((await results(thread))[0], /^HTTP\/1\.1 (200|50\d)/);
  const { decisions, questions } = await fetch(`${fawn.base}/api/threads/${thread}/network`).then((r) => r.json());
  assert.deepEqual([decisions.map((d) => `${d.answer} ${d.host}`), questions], [['thread 127.77.1.1'], []]);
  clean(page, other);
  await plain.context().close();
  await page.context().close();
});

test('a paused command is refused by No, and ended by Stop', { skip }, async (t) => {
  if (!networked) return t.skip('no sandbox with a network');
  const page = await open(browser, fawn.base);
  const thread = await ask(page, fawn.base, scripted(bash(knock('127.77.4.1')), { text: 'Blocked.' }));
  await page.getByText('The command is paused').waitFor();
  await card(page, '127.77.4.1').getByRole('button', { name: 'No', exact: true }).click();
  await finished(page);
  assert.match((await results(thread))[0], /^HTTP\/1\.1 403/);
  await ask(page, fawn.base, scripted(bash(knock('127.77.4.2')), { text: 'never' }));
  await page.getByText('The command is paused').waitFor();
  await page.click('#send [data-stop]');
  await finished(page);
  await page.getByText('Then ask the agent to try again').waitFor();
  assert.equal(await page.getByText('The command is paused').count(), 0);
  clean(page);
  await page.context().close();
});

test('a killed server keeps the question and pauses nothing', { skip }, async (t) => {
  if (!networked) return t.skip('no sandbox with a network');
  const own = await start({ config: 'sandbox: {network: {allow_private: [127.77.0.0/16], ask_timeout: 600}}\n' });
  const page = await open(browser, own.base);
  const thread = await ask(page, own.base, scripted(bash(knock('127.77.5.1')), { text: 'Ended.' }));
  await page.getByText('The command is paused').waitFor();
  await own.kill();
  await own.restart();
  await page.goto(`${own.base}/workspace/chats/${thread}`);
  await finished(page);
  await card(page, '127.77.5.1').waitFor();
  await page.getByText('Then ask the agent to try again').waitFor();
  assert.match(await page.innerText('.turn.last'), /Ended\./);
  await page.context().close();
  await own.stop();
});

test('questions of a run that is over wait on the page; no is not asked again', { skip }, async (t) => {
  if (!networked) return t.skip('no sandbox with a network');
  const page = await open(browser, fawn.base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: 'dark' });
  const thread = await ask(page, fawn.base, tries('127.77.2.1', '127.77.2.2'));
  for (let i = 0; i < 2; i++) { // stopped at both: the questions stay
    await card(page, `127.77.2.${i + 1}`).waitFor();
    await page.locator('#send [data-stop]').tap();
    await finished(page);
    if (!i) {
      await send(page, tries('127.77.2.2'));
      await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
    }
  }
  await page.reload();
  await card(page, '127.77.2.1').waitFor();
  assert.equal(await page.locator('#network form.ask').count(), 2);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false, 'the page scrolls sideways');
  await accessible(page);
  await shot(page, 'hosts-phone-dark');
  await card(page, '127.77.2.1').getByRole('button', { name: 'No', exact: true }).tap();
  await page.waitForFunction(() => document.querySelectorAll('#network form.ask').length === 1);
  await card(page, '127.77.2.2').getByRole('button', { name: 'Always' }).tap();
  await page.waitForFunction(() => !document.querySelector('#network form'));
  await send(page, tries('127.77.2.1', '127.77.2.2'));
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 3);
  await finished(page);
  const [no, always] = (await results(thread)).slice(-2);
  assert.match(no, /^HTTP\/1\.1 403/);
  assert.doesNotMatch(always, / 403 /);
  assert.equal(await page.locator('#network form.ask').count(), 0);

  await page.goto(fawn.base + '/workspace/settings/sandbox');
  const row = page.locator('.mrow', { hasText: '127.77.2.2' });
  assert.equal(await row.count(), 1);
  await shot(page, 'hosts-settings-phone-dark');
  await row.getByRole('button').tap();
  await page.waitForFunction(() => !document.querySelector('.mrow'));
  assert.deepEqual((await fetch(fawn.base + '/api/network').then((r) => r.json())).decisions, []);
  clean(page);
  await page.context().close();
});

test('a page says when commands are off, and why', { skip }, async () => {
  const off = await start({ config: 'sandbox: {provider: "off"}\n' });
  const page = await open(browser, off.base);
  await ask(page, off.base, scripted({ text: 'Hello.' }));
  await finished(page);
  await shot(page, 'hosts-off');
  await page.click('#sandbox-sign');
  await page.waitForURL(/settings\/sandbox$/);
  assert.match(await page.innerText('main'), /Commands are disabled/);
  await shot(page, 'hosts-off-settings');
  await page.goto(off.base + '/workspace/settings/about');
  assert.match(await page.innerText('main .facts'), /Commands are disabled/);
  await page.context().close();
  await off.stop();
});
