// Scheduled tasks in the browser: made, run at their time, followed to their chat, with an agent and a chat of their own,
// and deleted.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clean, launch, open, violations } from './browser.mjs';
import { chromium, lacks, start, until, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;
before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ shared: true, config: 'scheduler: {min_once_delay_seconds: 0}\n' }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

test('a task is scheduled and deleted', { skip }, async () => {
  const page = await open(browser, fawn.base, { timezoneId: 'Asia/Tokyo' });
  await page.goto(fawn.base + '/workspace/chats/new');
  await page.getByRole('link', { name: 'Scheduled tasks' }).click();
  await page.getByText('No scheduled tasks yet.').waitFor();
  assert.equal(await page.getByLabel('Title', { exact: true }).isVisible(), false, 'the list comes first');
  await page.locator('summary', { hasText: 'New task' }).click();
  await page.getByLabel('Title', { exact: true }).fill('Morning report');
  await page.getByLabel('Message', { exact: true }).fill(words(4));
  const shown = async (...names) => {
    for (const name of ['Time', 'Date', 'Day of the week', 'Cron expression']) assert.equal(await page.getByLabel(name, { exact: true }).isVisible(), names.includes(name), name);
  };
  for (const [when, ...fields] of [['hour'], ['once', 'Time', 'Date'], ['cron', 'Cron expression'], ['week', 'Day of the week', 'Time'], ['weekday', 'Time']]) {
    await page.getByLabel('Repeat').selectOption(when);
    await shown(...fields);
  }
  await page.getByLabel('Time', { exact: true }).fill('08:30');
  assert.equal(await page.getByLabel('Time zone').inputValue(), 'Asia/Tokyo');
  await page.getByRole('button', { name: 'Create task' }).click();
  const row = page.locator('summary', { hasText: 'Morning report' });
  await row.click();
  await page.getByText('Monday to Friday at 08:30').waitFor();
  await page.getByRole('link', { name: 'Edit: Morning report' }).click();
  await page.getByRole('heading', { name: 'Edit task' }).waitFor();
  assert.equal(await page.getByLabel('Time', { exact: true }).inputValue(), '08:30');
  assert.equal(await page.getByLabel('Time zone').inputValue(), 'Asia/Tokyo');
  assert.equal(await page.getByLabel('Message', { exact: true }).inputValue(), words(4));
  assert.deepEqual(await violations(page), []);
  await page.getByLabel('Time', { exact: true }).fill('09:15');
  await page.getByRole('button', { name: 'Save changes' }).click();
  await row.click();
  await page.getByText('Monday to Friday at 09:15').waitFor();
  await page.getByRole('button', { name: 'Delete: Morning report' }).click();
  await page.getByText('No scheduled tasks yet.').waitFor();
  clean(page);
  await page.context().close();
});

const post = (path, body) => fetch(fawn.base + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }).then((r) => r.json());

test('who looks at another page sees in the side bar that a task has worked', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.clock.install();
  await page.goto(fawn.base + '/workspace/chats/new');
  await page.locator('#threads').waitFor();
  const task = await post('/api/scheduled-tasks', { title: 'Beside you', prompt: words(3), schedule_type: 'cron', schedule_spec: { cron: '0 0 1 1 *' }, timezone: 'UTC' });
  await post(`/api/scheduled-tasks/${task.id}/trigger`, {});
  let run;
  await until('the run has ended', async () => {
    [run] = await fetch(`${fawn.base}/api/scheduled-tasks/${task.id}/runs`).then((r) => r.json());
    return run?.status === 'success';
  });
  await page.clock.runFor(31_000);
  await page.locator(`#tl-${run.thread_id} .dot.unread`).waitFor();
  await fetch(`${fawn.base}/api/scheduled-tasks/${task.id}`, { method: 'DELETE' });
  clean(page);
  await page.context().close();
});

test('a task fires at its time and shows its chat', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const task = await until('it is scheduled', async () => { // a busy machine may need longer than until then
    const run_at = new Date(Date.now() + 1500).toISOString();
    const made = await post('/api/scheduled-tasks', { title: 'At its time', prompt: words(3), schedule_type: 'once', schedule_spec: { run_at }, timezone: 'UTC' });
    return made.id && made;
  });
  const row = page.locator('summary', { hasText: 'At its time' });
  const facts = page.locator('.mrow', { has: row }).locator('.facts');
  await until('it has run by itself', async () => {
    await page.goto(fawn.base + '/workspace/scheduled-tasks');
    await row.click();
    return (await facts.innerText()).includes('done');
  });
  const [run] = await fetch(`${fawn.base}/api/scheduled-tasks/${task.id}/runs`).then((r) => r.json());
  assert.equal(run.trigger, 'scheduled');
  await facts.locator('a').click();
  await page.waitForURL(new RegExp(run.thread_id));
  assert.equal(await page.locator('.ans').innerText(), 'lorem lorem lorem');
  await page.locator(`#tl-${run.thread_id}`).waitFor(); // in the side bar
  await fetch(`${fawn.base}/api/scheduled-tasks/${task.id}`, { method: 'DELETE' });
  clean(page);
  await page.context().close();
});

test('a task has an agent, and one chat for all its runs', { skip }, async () => {
  const folder = join(fawn.data, 'users', 'default', 'agents', 'scribe');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'config.yaml'), 'description: writes\n');
  writeFileSync(join(folder, 'SOUL.md'), 'You write in short lines, scribe.');
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + '/workspace/scheduled-tasks');
  await page.locator('summary', { hasText: 'New task' }).click();
  await page.getByLabel('Title', { exact: true }).fill('Diary');
  await page.getByLabel('Message', { exact: true }).fill(words(2));
  await page.getByLabel('Agent', { exact: true }).selectOption('scribe');
  await page.getByLabel('Chat', { exact: true }).selectOption('One chat for all runs');
  assert.deepEqual(await violations(page), []);
  await page.getByRole('button', { name: 'Create task' }).click();
  const row = page.locator('summary', { hasText: 'Diary' });
  await row.waitFor();
  const [task] = await fetch(`${fawn.base}/api/scheduled-tasks`).then((r) => r.json());
  assert.deepEqual([task.title, task.assistant_id, task.context_mode], ['Diary', 'scribe', 'reuse_thread']);
  for (const times of [1, 2]) {
    await post(`/api/scheduled-tasks/${task.id}/trigger`, {});
    await until('the run is over', async () => {
      const list = await fetch(`${fawn.base}/api/scheduled-tasks/${task.id}/runs`).then((r) => r.json());
      return list.length === times && list.every((r) => r.status === 'success' && r.thread_id === task.thread_id);
    });
  }
  const asked = (await fawn.script.requests()).map((r) => JSON.stringify(r)).filter((r) => r.includes('in short lines, scribe'));
  assert.equal(asked.length, 2);
  await page.reload();
  await row.click();
  const facts = page.locator('.mrow', { has: row }).locator('.facts');
  assert.match(await facts.innerText(), /Agent\s+scribe/);
  await facts.getByRole('link', { name: 'One chat for all runs' }).click();
  await page.waitForURL(new RegExp(task.thread_id));
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  clean(page);
  await page.context().close();
});
