// Several models answer one question side by side; the chat goes on with one of them.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, launch, newChat, open, shot, violations } from './browser.mjs';
import { chromium, lacks, start, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ models: { larch: 'display_name: Larch', rowan: 'display_name: Rowan' } }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

test('two models answer at once, and the better one goes on', { skip }, async () => {
  const page = await open(browser, fawn.base, { colorScheme: 'light' });
  await page.goto(fawn.base + newChat);
  await page.fill('#q', words(40, 40));
  await page.click('[popovertarget=models]');
  await page.locator('.cmpmodels summary').focus();
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('.cmpmodels [value=larch]').evaluate((e) => getComputedStyle(e).opacity), '1', 'the box to tick is seen');
  await page.locator('.cmpmodels [value=larch]').check();
  await page.locator('.cmpmodels [value=rowan]').check();
  assert.deepEqual(await violations(page), []);
  await shot(page, 'compare-menu');
  await page.getByRole('button', { name: 'Send to these models' }).click();
  await page.waitForURL(/\/workspace\/compare\//);
  const answers = ['Larch', 'Rowan'].map((name) => page.frameLocator(`iframe[title="Answer from ${name}"]`));
  for (const a of answers) await a.locator('.turn .ans .md').waitFor();
  for (const a of answers) await a.locator('#turns:not([data-running]) .turn').waitFor();
  assert.deepEqual(await violations(page), []);
  await shot(page, 'compare-light');
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.deepEqual(await violations(page), []);
  await shot(page, 'compare-dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 390, height: 800 });
  assert.equal(await page.locator('iframe:visible').count(), 1, 'tabs on a phone');
  await page.getByRole('radio', { name: 'Rowan' }).check({ force: true });
  assert.ok(await page.locator('iframe[title="Answer from Rowan"]').isVisible());
  assert.deepEqual(await violations(page), []);
  await shot(page, 'compare-phone');
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.locator('section', { has: page.locator('iframe[title="Answer from Rowan"]') }).getByLabel('Delete the other branches').check();
  await page.getByRole('button', { name: 'Continue with this answer: Rowan' }).click();
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await page.locator('#toasts', { hasText: 'Undo' }).waitFor();
  assert.match(await page.innerText('#model-name'), /Rowan/);
  await page.goto(fawn.base + '/workspace/settings/models');
  await page.getByText('preferred 1 of 1 times').waitFor();
  await shot(page, 'compare-models');
  clean(page);
});
