// Long conversations: they open at their end, come in piece by piece in front of the reader's
// eyes without moving what is read, and are found at the message that was looked for.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, finished, launch, open, send, shot, violations } from './browser.mjs';
import { chromium, held, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const turns = process.env.FAWN_SOAK === '1' ? 1000 : 400, zebra = turns * 2 / 5;
let fawn, browser, path;

// Answers of very different heights, so that a guess at them is wrong.
const text = (i) => `Answer ${i}.\n\n` + 'A paragraph of some words that fills a line or two of the page. '.repeat(1 + i * 7 % 23) + '\n\n' +
  Array.from({ length: i % 9 }, (_, n) => `- item ${n}`).join('\n') + (i === zebra ? '\n\nThe zebra crosses here.' : '');

const post = async (url, body) => {
  const res = await fetch(fawn.base + url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  assert.equal(res.status, 200, url);
  return res.json();
};

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
  const { thread_id: id } = await post('/threads', {});
  const messages = Array.from({ length: turns }, (_, i) => [{ type: 'human', content: `Question ${i}` }, { type: 'ai', content: text(i) }]).flat();
  await post(`/threads/${id}/state`, { values: { messages } });
  path = `/workspace/chats/${id}`;
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const last = (n) => `article.turn:last-of-type .you:text-is("Question ${n}")`;

// Moves like a wheel, frame by frame, until the end of the way is seen or the conversation
// ends, and notes how far what stands on the screen moved beside that.
const wheel = (page, by) => page.evaluate(async (by) => {
  const s = document.querySelector('#scroll'), frame = () => new Promise(requestAnimationFrame);
  const middle = () => {
    const { top, height } = s.getBoundingClientRect();
    return [...document.querySelectorAll('article.turn')].find((t) => t.getBoundingClientRect().bottom > top + height / 2);
  };
  // A gap between two turns fills before one of them or behind the other: which of them stays is open.
  const between = (a, b) => [...document.querySelectorAll('.gap')].some((g) => (a.compareDocumentPosition(g) ^ b.compareDocumentPosition(g)) & Node.DOCUMENT_POSITION_FOLLOWING);
  const jumps = [], gaps = [];
  // What is left out on the way may take its time on a busy machine.
  const more = () => [...document.querySelectorAll('.gap')].some((g) => (g.getBoundingClientRect().top < s.getBoundingClientRect().top + s.clientHeight / 2) === by < 0);
  s.dispatchEvent(new WheelEvent('wheel', { deltaY: by }));
  let then = await frame();
  for (let rest = 0; rest < 40 || rest < 4000 && more();) {
    const t = middle(), was = t.getBoundingClientRect().top, at = s.scrollTop;
    s.scrollTop += by;
    const moved = s.scrollTop - at, split = between(t, middle());
    const now = await frame();
    await new Promise((r) => setTimeout(r)); // after the frame is painted
    gaps.push(now - then);
    then = now;
    const off = Math.abs(t.getBoundingClientRect().top - was + moved);
    if (off > 2 && !split) jumps.push(`${Math.round(off)} px in ${t.querySelector('.you').textContent}`);
    rest = moved && Math.abs(moved) > 1 ? 0 : rest + 1;
    if (!moved) await new Promise((r) => setTimeout(r, 25)); // more may be on its way
  }
  gaps.sort((a, b) => a - b);
  return { jumps, frames: gaps.length, middle: gaps[gaps.length >> 1], longest: gaps.at(-1) };
}, by);

test('a long chat opens at its end, scrolls to its first message and back, and nothing jumps', { skip }, async (t) => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + path);
  await page.waitForSelector(last(turns - 1));
  assert.ok(await page.locator(last(turns - 1)).isVisible());
  assert.ok(await page.locator('article.turn').count() < 100, 'it opens with its newest turns only');
  const up = await wheel(page, -500);
  t.diagnostic(`up: ${JSON.stringify({ ...up, jumps: up.jumps.length })}`);
  assert.ok(await page.locator('.you:text-is("Question 0")').isVisible(), 'the first message was reached');
  assert.equal(await page.locator('article.turn').count(), turns, 'nothing has left the page');
  assert.deepEqual(await page.$$eval('.turn > .mine .you', (all) => all.findIndex((el, i) => el.textContent !== `Question ${i}`)), -1, 'the order');
  assert.deepEqual(up.jumps, [], 'what is read stays where it is');
  const down = await wheel(page, 500);
  t.diagnostic(`down: ${JSON.stringify({ ...down, jumps: down.jumps.length })}`);
  assert.ok(await page.locator(last(turns - 1)).isVisible(), 'and back at the end');
  assert.deepEqual(down.jumps, [], 'what is read stays where it is on the way back');
  clean(page);
  await page.context().close();
});

test('the button loads earlier messages, by keyboard too, and a message sent stands behind the newest', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + path);
  await page.waitForSelector(last(turns - 1));
  const shown = await page.locator('article.turn').count();
  await page.evaluate(() => document.querySelector('#earlier').focus());
  await page.keyboard.press('Enter');
  await page.waitForFunction((n) => document.querySelectorAll('article.turn').length > n, shown);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'earlier', 'the focus is on the next button');
  assert.ok(await page.locator(last(turns - 1)).count(), 'the newest turns stay');
  await page.evaluate(() => { document.querySelector('#scroll').scrollTop = 3000; });
  await send(page, `${held('earlier', 20)} after all`);
  await page.waitForSelector('#send [data-stop]');
  await fawn.script.open('earlier');
  await finished(page);
  assert.ok(await page.locator('article.turn.last .you').isVisible(), 'what was sent is on the screen');
  assert.equal(await page.locator('article.turn:nth-last-of-type(2) .you').innerText(), `Question ${turns - 1}`);
  assert.equal(await page.locator('article.turn ~ .gap').count(), 0, 'no gap in front of it');
  clean(page);
  await page.context().close();
});

test('earlier messages stay when the stream tells the chat anew', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + path);
  await page.click('#earlier');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length > 30);
  const first = await page.locator('article.turn').first().getAttribute('id');
  await send(page, scripted({ text: 'One.', gate: '' }));
  await page.waitForFunction(() => document.querySelector('article.turn.last .ans')?.innerText === 'One.'); // the turn before is finished, too
  await finished(page);
  // The stream of a page that nobody can tell where it stands begins with everything.
  await page.evaluate(() => { document.querySelector('#turns').dataset.stream += '?x='; });
  await send(page, scripted({ text: 'The second answer.', gate: '' }));
  await page.waitForFunction(() => document.querySelector('article.turn.last .ans')?.innerText === 'The second answer.');
  await finished(page);
  assert.equal(await page.locator('#' + first).count(), 1); // more of them may have come in front
  clean(page);
  await page.context().close();
});

test('a search hit opens at its message, and the conversation fills from there', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + '/workspace/chats?q=zebra');
  await page.click('.lrow a[href*="at="]');
  await page.waitForURL(/[?&]at=/); // its script leads to the message
  const hit = page.locator('.md:has-text("The zebra crosses here.")');
  await hit.waitFor();
  assert.ok(await hit.isVisible());
  const box = await hit.boundingBox();
  assert.ok(box.y >= 0 && box.y < 400, `the message stands at ${box.y}`);
  await shot(page, 'hit');
  assert.deepEqual(await violations(page), []);
  assert.ok(await page.locator(`.you:text-is("Question ${turns - 1}")`).count(), 'the newest turns are there');
  const { jumps } = await wheel(page, 300);
  assert.deepEqual(jumps, [], 'nothing jumps on the way to the end');
  await page.waitForFunction(() => { // one that took longer than its reader fills when that comes back to it
    const gap = [...document.querySelectorAll('.gap')].find((g) => g.previousElementSibling?.matches('article.turn'));
    gap?.scrollIntoView();
    return !gap;
  });
  const from = await page.$$eval('.turn > .mine .you', (all) => all.map((el) => el.textContent));
  const at = from.indexOf(`Question ${zebra}`);
  assert.deepEqual(from.slice(at, at + turns - zebra), Array.from({ length: turns - zebra }, (_, i) => `Question ${zebra + i}`), 'no gap is left');
  clean(page);
  await page.context().close();
});

test('a reader who has gone past a gap stays in place when it fills', { skip }, async () => {
  const page = await open(browser, fawn.base);
  let go;
  const held = new Promise((r) => { go = r; });
  await page.route('**/turns?*', async (route) => { await held; await route.continue(); });
  await page.goto(fawn.base + '/workspace/chats?q=zebra');
  await page.click('.lrow a[href*="at="]');
  await page.waitForURL(/[?&]at=/);
  await page.evaluate(() => [...document.querySelectorAll('.gap')].at(-1).scrollIntoView({ block: 'end' }));
  await page.waitForFunction(() => [...document.querySelectorAll('.gap')].at(-1).ariaBusy);
  const where = () => page.evaluate(async () => {
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
    return window.read.getBoundingClientRect().top;
  });
  await page.evaluate(() => {
    window.read = document.querySelector('article.turn:nth-last-of-type(12)');
    window.read.scrollIntoView({ block: 'center' });
  });
  const was = await where(), shown = await page.locator('article.turn').count();
  go();
  await page.waitForFunction((n) => document.querySelectorAll('article.turn').length > n, shown);
  assert.ok(Math.abs(await where() - was) <= 2, `what stood at ${was} stands at ${await where()}`);
  clean(page);
  await page.context().close();
});

test('the first message is painted with the next frames after Enter, before the server answers', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + '/workspace/chats/new');
  let go;
  const held = new Promise((r) => { go = r; });
  await page.route('**/ui/threads', async (route) => { await held; await route.continue(); });
  await page.fill('#q', 'Hello there');
  // Frames are counted, not milliseconds: six of them are 100 ms where nothing else works.
  const frames = await page.evaluate(() => new Promise((done) => {
    let n = 0;
    const look = () => { n++; if (document.querySelector('.you')?.checkVisibility()) requestAnimationFrame(() => done(n)); else requestAnimationFrame(look); };
    requestAnimationFrame(look);
    document.querySelector('#q').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  }));
  assert.ok(frames <= 5, `it took ${frames} frames`);
  go();
  await page.waitForURL(/chats\/(?!new)/);
  assert.equal(await page.innerText('.turn .you'), 'Hello there');
  await finished(page);
  clean(page);
  await page.context().close();
});

test('a first message that is refused comes back into the box', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + '/workspace/chats/new');
  await page.fill('#q', '/compact');
  await page.press('#q', 'Escape');
  await page.evaluate(() => document.querySelector('#compose').requestSubmit());
  await page.waitForSelector('#problem:not([hidden])');
  assert.equal(await page.inputValue('#q'), '/compact');
  assert.equal(await page.locator('.sent').count(), 0);
  await page.context().close();
});
