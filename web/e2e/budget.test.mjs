// What the page weighs and how quick it is. Sizes and counts have limits; times are
// printed, because they are the machine's.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { answerHTML, ask, atLeast, clean, finished, launch, open } from './browser.mjs';
import { chromium, here, lacks, scripted, start } from './harness.mjs';
import { sample } from './sample.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const rows = [];
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

// measured puts a line into the table and holds it to its limit.
const measured = (what, value, limit) => {
  rows.push([what, value, limit ?? '']);
  if (limit !== undefined) assert.ok(value <= limit, `${what}: ${value}, and the limit is ${limit}`);
};

test('a cold thread page is light', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, scripted({ text: sample }));
  await finished(page);
  await page.context().close();
  const cold = await open(browser, fawn.base);
  const seen = [];
  cold.on('response', (r) => seen.push(r));
  await cold.goto(`${fawn.base}/workspace/chats/${id}`, { waitUntil: 'load' });
  await cold.evaluate(() => document.fonts.ready);
  const raw = { script: 0, stylesheet: 0 }, packed = { script: 0, stylesheet: 0 };
  let total = 0;
  for (const r of seen) {
    const body = await r.body(), kind = r.request().resourceType(), small = gzipSync(body).length;
    total += kind === 'font' ? body.length : small;
    if (kind in raw) { raw[kind] += body.length; packed[kind] += small; }
  }
  measured('script, bytes', raw.script);
  measured('script, bytes gzip', packed.script);
  measured('style, bytes', raw.stylesheet);
  measured('style, bytes gzip', packed.stylesheet);
  measured('cold thread page, requests', seen.length, 8);
  measured('cold thread page, bytes gzip', total, 150_000);
  clean(cold);
  await cold.context().close();
});

test('the first page of all is light', { skip }, async () => {
  const bare = await start({ model: false });
  const page = await open(browser, bare.base);
  const seen = [];
  page.on('response', (r) => seen.push(r));
  await page.goto(`${bare.base}/workspace/chats/new`, { waitUntil: 'load' });
  await page.evaluate(() => document.fonts.ready);
  let total = 0;
  for (const r of seen) {
    const body = await r.body();
    total += r.request().resourceType() === 'font' ? body.length : gzipSync(body).length;
  }
  measured('first page, requests', seen.length, 8);
  measured('first page, bytes gzip', total, 150_000);
  clean(page);
  await page.context().close();
  await bare.stop();
});

test('what is loaded on demand is small', () => {
  const dist = join(here, '..', '..', 'assets', 'dist');
  let all = 0;
  for (const name of readdirSync(dist).filter((n) => n.endsWith('.js') && n !== 'app.js')) {
    const small = gzipSync(readFileSync(join(dist, name))).length;
    measured(`${name}, bytes gzip`, small, 10_000);
    all += small;
  }
  measured('modules on demand together, bytes gzip', all, 45_000);
});

// busy gives the seconds of the processor that the main thread of a page has taken. Not of
// the clock: other programs may want the machine too.
const busy = async (cdp) => (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value;

// slowness is how many times as long as usual the processor takes for some work, at least 1.
const slowness = async (page, cdp) => {
  const usual = 0.05, all = [];
  for (let i = 0; i < 5; i++) {
    const from = await busy(cdp);
    await page.evaluate(() => {
      const box = document.createElement('div');
      for (let n = 0; n < 5000; n++) box.append(Object.assign(document.createElement('p'), { textContent: `word ${n}` }));
      document.body.append(box);
      box.getBoundingClientRect();
      box.remove();
    });
    all.push(await busy(cdp) - from);
  }
  return Math.max(1, Math.min(...all) / usual);
};

// watch opens a chat with an answer of n samples, and sees what its page gets and does.
const watch = async (n) => {
  const page = await open(browser, fawn.base);
  await page.context().addInitScript(() => {
    // From the moment of sending. The box that the test fills at once grew before, which nobody's typing does.
    let from = 0;
    window.shift = 0;
    addEventListener('keydown', () => { window.shift = 0; from = performance.now(); }, true);
    new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput && e.startTime > from) window.shift += e.value; })
      .observe({ type: 'layout-shift', buffered: true });
  });
  const cdp = await page.context().newCDPSession(page);
  let sent = 0, frames = 0;
  cdp.on('Network.eventSourceMessageReceived', (e) => {
    frames++;
    sent += Buffer.byteLength(e.data) + e.eventName.length + e.eventId.length + 'event: \nid: \ndata: \n\n'.length;
  });
  await cdp.send('Network.enable');
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  await ask(page, fawn.base, scripted({ text: (sample + '\n').repeat(n), rate: 200 }));
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] });
  await atLeast(page, 10);
  const from = performance.now(), a = await busy(cdp);
  await finished(page);
  const share = (await busy(cdp) - a) * 100_000 / (performance.now() - from);
  const { traceEvents: events } = JSON.parse(await browser.stopTracing());
  const main = new Set(events.filter((e) => e.args?.name === 'CrRendererMain').map((e) => `${e.pid} ${e.tid}`));
  const tasks = events.filter((e) => main.has(`${e.pid} ${e.tid}`) && /RunTask$/.test(e.name) && e.tdur).map((e) => Math.round(e.tdur / 1000)).sort((a, b) => b - a);
  return { page, cdp, sent, frames, share, tasks };
};

test('a whole stream shifts nothing, sends little and leaves the main thread free', { skip }, async () => {
  let seen = await watch(4);
  // On a slow machine most of an answer is there before its page is: then a longer one.
  for (const n of [12, 36]) {
    if (seen.tasks.length > 100 && seen.frames > 10) break;
    await seen.page.context().close();
    seen = await watch(n);
  }
  const { page, cdp, sent, frames, share, tasks } = seen;
  assert.ok(tasks.length > 100 && frames > 10, `${tasks.length} tasks and ${frames} frames were seen`);
  measured('layout shift over a stream', await page.evaluate(() => window.shift), 0.02);
  const html = Buffer.byteLength(await answerHTML(page));
  measured('bytes sent for each byte of the answer\'s HTML', Math.round(100 * sent / html) / 100, 2.5);
  const slow = await slowness(page, cdp);
  measured('main thread over a stream, %', Math.round(10 * share) / 10, Math.round(25 * slow));
  measured('longest task over a stream, ms of the processor', tasks[0], Math.round(150 * slow));
  await page.reload({ waitUntil: 'load' });
  measured('layout shift on load', await page.evaluate(() => window.shift), 0.02);
  clean(page);
  await page.context().close();
});

// long makes a thread of n turns and returns its path.
const long = async (n) => {
  const post = async (path, body) => {
    const res = await fetch(fawn.base + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    assert.equal(res.status, 200, path);
    return res.json();
  };
  const { thread_id: id } = await post('/threads', {});
  const messages = Array.from({ length: n }, (_, i) => [{ type: 'human', content: `Question ${i}` }, { type: 'ai', content: `Answer ${i}.\n\n${sample}` }]).flat();
  await post(`/threads/${id}/state`, { values: { messages } });
  return `/workspace/chats/${id}`;
};

test('long threads open as short ones do, and scroll', { skip }, async () => {
  for (const n of [200, 1000]) {
    const path = await long(n), page = await open(browser, fawn.base);
    // From the click to the first frame that shows the end of the chat. What the browser does for itself afterwards,
    // such as collecting the text of the whole page, is no part of it.
    await page.addInitScript(() => addEventListener('DOMContentLoaded', () => {
      const look = () => {
        const last = document.querySelector('article.turn.last')?.getBoundingClientRect();
        if (last && last.top < innerHeight && last.bottom > 0) requestAnimationFrame(() => { window.opened = performance.now(); });
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    }));
    await page.goto(fawn.base + path, { waitUntil: 'load' });
    assert.match(await page.innerText('article.turn.last .ans'), new RegExp(`^Answer ${n - 1}\\.`));
    measured(`${n} turns, opened in ms`, Math.round(await page.waitForFunction(() => window.opened).then((h) => h.jsonValue())));
    const again = performance.now(), html = await fetch(fawn.base + path).then((r) => r.text());
    measured(`${n} turns, made by the server again in ms`, Math.round(performance.now() - again));
    measured(`${n} turns, bytes of the page`, html.length, 1_000_000);
    measured(`${n} turns, elements`, await page.evaluate(() => document.querySelectorAll('*').length), 20_000);
    const seen = await page.evaluate(async () => {
      // Through all that the page began with, and some that came in; earlier.test.mjs goes to the first message.
      const s = document.querySelector('#scroll'), gaps = [], turns = document.getElementsByClassName('turn'), began = turns.length;
      let last = await new Promise(requestAnimationFrame);
      for (s.scrollTop = s.scrollHeight; s.scrollTop > 0 && !(gaps.length > 200 && turns.length > began); s.scrollTop -= 400) {
        const now = await new Promise(requestAnimationFrame);
        gaps.push(now - last);
        last = now;
      }
      gaps.sort((a, b) => a - b);
      return { frames: gaps.length, middle: gaps[gaps.length >> 1], longest: gaps.at(-1) };
    });
    assert.ok(seen.frames > 30, `${seen.frames} frames`);
    measured(`${n} turns, frames of scrolling`, seen.frames);
    measured(`${n} turns, ms between two frames, median`, Math.round(seen.middle));
    measured(`${n} turns, ms between two frames, longest`, Math.round(seen.longest));
    await page.waitForSelector(`text="Question ${n - 31}"`, { state: 'attached' }); // it came as the reader came near
    clean(page);
    await page.context().close();
  }
});

test('the table', (t) => {
  const wide = Math.max(...rows.map((r) => r[0].length));
  for (const [what, value, limit] of rows) t.diagnostic(`${what.padEnd(wide)}  ${String(value).padStart(8)}${limit === '' ? '' : `  of ${limit}`}`);
});
