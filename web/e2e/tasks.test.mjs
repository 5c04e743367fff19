// Scheduled tasks in the browser: made, run by hand, followed to their chat,
// paused and deleted, with JavaScript and without.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, launch, open } from './browser.mjs';
import { chromium, lacks, start, until, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;
before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

for (const javaScriptEnabled of [true, false]) {
  test(`a task is scheduled, run, paused and deleted, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, { skip }, async () => {
    const page = await open(browser, fawn.base, { javaScriptEnabled, timezoneId: 'Asia/Tokyo' });
    await page.goto(fawn.base + '/workspace/chats/new');
    await page.getByRole('link', { name: 'Scheduled tasks' }).click();
    await page.getByText('No scheduled tasks yet.').waitFor();
    assert.equal(await page.getByLabel('Title').isVisible(), false, 'the list comes first');
    await page.locator('summary', { hasText: 'New task' }).click();
    await page.getByLabel('Title').fill('Morning report');
    await page.getByLabel('Message').fill(words(4));
    const shown = async (...names) => {
      for (const name of ['Time', 'Date', 'Day of the week', 'Cron expression']) assert.equal(await page.getByLabel(name, { exact: true }).isVisible(), names.includes(name), name);
    };
    for (const [when, ...fields] of [['hour'], ['once', 'Time', 'Date'], ['cron', 'Cron expression'], ['week', 'Day of the week', 'Time'], ['weekday', 'Time']]) {
      await page.getByLabel('Repeat').selectOption(when);
      await shown(...fields);
    }
    await page.getByLabel('Time', { exact: true }).fill('08:30');
    assert.equal(await page.getByLabel('Time zone').inputValue(), javaScriptEnabled ? 'Asia/Tokyo' : 'UTC');
    await page.getByRole('button', { name: 'Create task' }).click();
    const row = page.locator('summary', { hasText: 'Morning report' });
    await row.click();
    await page.getByText('Monday to Friday at 08:30').waitFor();
    await Promise.all([page.waitForResponse((r) => r.request().method() === 'POST'), page.getByRole('button', { name: 'Run now: Morning report' }).click()]);
    await until('the run is in the history', async () => {
      await page.goto(fawn.base + '/workspace/scheduled-tasks');
      await row.click();
      return await page.locator('.facts a').count() > 0 && (await page.locator('.facts').innerText()).includes('done');
    });
    await page.getByRole('button', { name: 'Pause: Morning report' }).click();
    await page.locator('summary', { hasText: 'paused' }).click();
    await page.locator('.facts a').click();
    await page.waitForURL(/\/workspace\/chats\//);
    await page.locator('.ans').first().waitFor();
    await page.goto(fawn.base + '/workspace/scheduled-tasks');
    await row.click();
    await page.getByRole('button', { name: 'Delete: Morning report' }).click();
    await page.getByText('No scheduled tasks yet.').waitFor();
    clean(page);
    await page.context().close();
  });
}

test('what is wrong with a task stands beside its field, in the language of the page', { skip }, async () => {
  const page = await open(browser, fawn.base, { locale: 'zh-CN' });
  await page.goto(fawn.base + '/workspace/scheduled-tasks');
  await page.locator('summary', { hasText: '新建任务' }).click();
  await page.getByLabel('标题').fill('晨报');
  await page.getByLabel('消息').fill('写一份报告');
  await page.getByLabel('频率').selectOption('cron');
  await page.getByLabel('Cron 表达式').fill('every day');
  await page.getByRole('button', { name: '创建任务' }).click();
  await page.locator('.field.cron').getByRole('alert').getByText('“every day”不是有效的 cron 表达式').waitFor();
  assert.equal(await page.getByLabel('消息').inputValue(), '写一份报告');
  clean(page);
  await page.context().close();
});
