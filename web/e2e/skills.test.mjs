// Skills in the browser: one that an agent made is installed from its card, and switched off.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const looks = [['light', 'light', 1280], ['dark', 'dark', 1280], ['narrow', 'light', 390]];
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({}), launch()]);
  await fawn.script.rules([
    { match: 'make me a skill', script: { turns: [
      { tool_calls: [{ name: 'write_file', args: { description: 'write', path: '/mnt/user-data/workspace/stock-check/SKILL.md', content: '---\nname: stock-check\ndescription: Counts what is in the shop\n---\n1. Count with `scripts/count.sh`.\n' } }] },
      { tool_calls: [{ name: 'write_file', args: { description: 'write', path: '/mnt/user-data/workspace/stock-check/scripts/count.sh', content: 'wc -l "$1"\n' } }] },
      { tool_calls: [{ name: 'bash', args: { description: 'pack', command: '/mnt/skills/public/skill-creator/skilltool pack stock-check /mnt/user-data/outputs/stock-check.skill' } }] },
      { tool_calls: [{ name: 'present_files', args: { filepaths: ['/mnt/user-data/outputs/stock-check.skill'] } }] },
      { text: 'Here is your skill.' }] } },
    { match: 'what is there', script: { turns: [{ tool_calls: [{ name: 'bash', args: { description: 'look', command: 'ls -R /mnt/skills/custom; echo looked' } }] }, { text: 'That is all.' }] } },
  ]);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

test('a skill that the agent made is installed from its card, and gone from the sandbox when it is off', { skip }, async (t) => {
  const health = await (await fetch(fawn.base + '/health')).json();
  const missing = lacks('A sandbox', health.sandbox?.provider !== 'off');
  if (missing) { t.skip(missing); return; }
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, 'make me a skill');
  await finished(page);
  const button = page.locator('article.turn .file').getByRole('button', { name: 'Install skill' });
  await button.waitFor();
  for (const [name, colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await shot(page, 'card-' + name);
  }
  assert.deepEqual(await violations(page), []);
  await page.setViewportSize({ width: 1280, height: 900 }); // the panel of files covers a narrow page
  await button.click();
  await page.getByRole('heading', { level: 1, name: 'Install “stock-check”?' }).waitFor();
  await page.getByText('scripts/count.sh').first().waitFor();
  for (const [name, colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await shot(page, 'consent-' + name);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is too wide');
  }
  assert.deepEqual(await violations(page), []);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole('button', { name: 'Install skill' }).click();
  await page.getByRole('heading', { level: 1, name: 'stock-check' }).waitFor();
  const look = async () => {
    const run = await fetch(`${fawn.base}/threads/${id}/runs/wait`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: 'what is there' }] } }) });
    const { messages } = await run.json();
    return JSON.stringify(messages.filter((m) => m.type === 'tool').at(-1).content);
  };
  assert.match(await look(), /count\.sh.*looked/);
  await page.getByRole('button', { name: 'Turn off: stock-check' }).click();
  await page.getByRole('button', { name: 'Turn on: stock-check' }).waitFor();
  const after = await look();
  assert.ok(after.includes('looked') && !after.includes('count.sh'), after);
  clean(page);
});
