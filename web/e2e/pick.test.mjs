// Model and mode are chosen in the message box, by keyboard and by mouse, and kept
// for each chat.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, newChat, open, send } from './browser.mjs';
import { chromium, lacks, start, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

const models = { thinker: 'display_name: Deep Thinker, supports_thinking: true', larch: 'display_name: Larch, supports_thinking: true', larkspur: 'display_name: Larkspur' };
before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ models }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

// lastRun is what the newest run of a thread was asked for.
const lastRun = async (id) => (await fetch(`${fawn.base}/threads/${id}/runs?limit=1`).then((r) => r.json()))[0].kwargs.context;
const kept = (page, act) => Promise.all([page.waitForResponse((r) => /\/choice$/.test(r.url()) && r.ok()), act()]);
const mode = (page) => page.locator('.pickbtn [data-mode]:not([hidden])').innerText();

test('every mode posts its four flags', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  await page.click('[popovertarget=models]');
  await kept(page, () => page.click('#models .pickrow:has([value=thinker])'));
  assert.equal(await page.locator('#models:popover-open').count(), 0, 'a click chooses and closes');
  assert.equal(await mode(page), 'Pro', 'a model that can think does, while nothing else is chosen');
  let id = '';
  for (const [name, ...want] of [['flash', false, false, false, undefined], ['thinking', true, false, false, 'low'], ['pro', true, true, false, 'medium'], ['ultra', true, true, true, 'high']]) {
    await page.click('[popovertarget=modes]');
    const row = page.locator(`#modes .pickrow:has([value=${name}])`);
    if (await row.locator('input').isChecked()) await page.keyboard.press('Escape');
    else await kept(page, () => row.click());
    assert.equal((await mode(page)).toLowerCase(), name);
    const before = await page.locator('article.turn').count();
    await send(page, words(2));
    await page.waitForURL(/\/workspace\/chats\/(?!new)/);
    await page.waitForFunction((n) => document.querySelectorAll('article.turn').length > n, before);
    await finished(page);
    id = new URL(page.url()).pathname.split('/').pop();
    const c = await lastRun(id);
    assert.deepEqual([c.thinking_enabled, c.is_plan_mode, c.subagent_enabled, c.reasoning_effort], want, name);
    assert.equal(c.model_name, 'thinker');
  }
  clean(page);
});

test('the models are filtered by typing, and the choice is kept for the chat', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const one = await ask(page, fawn.base, words(2));
  await finished(page);
  const before = await page.innerText('#model-name');
  await page.focus('[popovertarget=models]');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.id === 'model-filter');
  await page.keyboard.type('lar');
  assert.deepEqual(await page.locator('#models .pickrow:visible b').allInnerTexts(), ['Larch', 'Larkspur']);
  await page.keyboard.type('x');
  assert.ok(await page.locator('#no-model').isVisible());
  await page.keyboard.press('Backspace');
  await page.keyboard.press('ArrowDown');
  await kept(page, () => page.keyboard.press('ArrowDown'));
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.id === 'q');
  assert.equal(await page.innerText('#model-name'), 'Larkspur');
  assert.equal(await page.locator('article.turn').count(), 1, 'Enter in the menu sends nothing');
  assert.equal(await mode(page), 'Flash');
  await page.click('[popovertarget=modes]');
  assert.ok(await page.locator('#cannot-think').isVisible(), 'it says why there is only one mode');
  assert.equal(await page.locator('#modes input:enabled').count(), 1);
  await page.keyboard.press('Escape');
  await page.reload();
  assert.equal(await page.innerText('#model-name'), 'Larkspur');
  const two = await ask(page, fawn.base, words(2));
  await finished(page);
  await page.focus('[popovertarget=models]');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.id === 'model-filter');
  await page.keyboard.type('larch');
  await kept(page, () => page.keyboard.press('Enter'));
  await page.goto(`${fawn.base}/workspace/chats/${one}`);
  assert.equal(await page.innerText('#model-name'), 'Larkspur');
  await page.goto(`${fawn.base}/workspace/chats/${two}`);
  assert.equal(await page.innerText('#model-name'), 'Larch');
  assert.notEqual(before, 'Larch');
  clean(page);
});

test('on the smallest screens mode and model are signs with names', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 340, height: 640 }, hasTouch: true, isMobile: true });
  await page.goto(fawn.base + newChat);
  for (const name of [/^(Flash|Thinking|Pro|Ultra)$/, /^(Scripted|Deep Thinker|Larch|Larkspur)$/]) {
    const button = page.getByRole('button', { name });
    const { width, height } = await button.boundingBox();
    assert.ok(width < 66 && height >= 44, `${name}: ${width} x ${height}`);
    assert.equal(await button.locator('.icon').filter({ visible: true }).count(), 2, 'what it is, and that it opens');
  }
  await page.setViewportSize({ width: 390, height: 844 });
  const model = page.getByRole('button', { name: /Scripted|Deep Thinker|Larch|Larkspur/ });
  assert.ok((await model.boundingBox()).width > 66);
  assert.equal(await model.locator('.icon').filter({ visible: true }).count(), 1);
  clean(page);
  await page.context().close();
});
