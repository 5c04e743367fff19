// Reading while an answer grows: nothing moves, nothing raw is seen, what is
// selected stays selected, and copies are exact.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answerHTML, ask, atLeast, clean, finished, launch, open, send, shot } from './browser.mjs';
import { chromium, lacks, scripted, start, until, words } from './harness.mjs';
import { code, sample } from './sample.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

test('at no moment of a stream are raw marks seen, and the end equals a fresh page', { skip }, async (t) => {
  const page = await open(browser, fawn.base);
  await page.context().addInitScript(() => {
    window.raw = [];
    window.looks = 0;
    const bad = [/\*\*/, /~~/, /```/, /(^|\n)\s*#{1,6}\s/, /\]\(/, /(^|\n)\s*\|/, /\|\s*:?-{2,}/, /\[citation/, /\[\^/, /(^|\n)\s*[-*] \[/, /(^|\n)>\s/, /`/];
    new MutationObserver(() => {
      const el = document.querySelector('.turn.last .ans');
      if (!el?.firstChild) return;
      window.looks++;
      const copy = el.cloneNode(true);
      for (const c of copy.querySelectorAll('pre, code')) c.remove();
      for (const b of copy.querySelectorAll('p, li, div, h2, h3, tr, blockquote')) b.append('\n');
      for (const re of bad) if (re.test(copy.textContent)) window.raw.push(`${re} in …${copy.textContent.slice(-80)}`);
    }).observe(document, { subtree: true, childList: true, characterData: true });
  });
  await ask(page, fawn.base, scripted({ text: sample, rate: 40 }));
  await finished(page);
  const [raw, looks] = await page.evaluate(() => [window.raw, window.looks]);
  t.diagnostic(`${looks} looks`);
  assert.ok(looks > 10);
  assert.deepEqual(raw.slice(0, 5), []);
  const live = await answerHTML(page);
  for (const [selector, n] of [['h2', 1], ['h3', 1], ['li li li', 1], ['td.r', 2], ['.cb', 8], ['.tasks .box.on', 1], ['blockquote', 1], ['.fns li', 1], ['a.cite', 3]]) {
    assert.equal(await page.locator('.turn.last .ans ' + selector).count(), n, selector);
  }
  assert.match(await page.innerText('.sources summary'), /2/);
  await page.reload();
  assert.equal(await answerHTML(page), live);
  clean(page);
});

test('code and answers are copied exactly', { skip }, async () => {
  const page = await open(browser, fawn.base, { permissions: ['clipboard-read', 'clipboard-write'] });
  await ask(page, fawn.base, scripted({ text: sample }));
  await finished(page);
  const copied = async (button) => {
    await page.evaluate(() => { document.querySelector('#say').textContent = ''; });
    await button.click();
    await page.waitForFunction(() => document.querySelector('#say').textContent === 'Copied');
    return page.evaluate(() => navigator.clipboard.readText());
  };
  assert.equal(await copied(page.locator('.cb [data-copy]').nth(1)), code.go);
  assert.equal(await copied(page.locator('.turn.last [data-copy="source"]')), sample);
  clean(page);
});

test('what is selected stays selected to the end of the run', { skip }, async () => {
  for (const [where, text] of [['a finished paragraph', 'The first one stands.\n\n' + 'lorem ipsum '.repeat(20)], ['the open paragraph', 'The first one stands ' + 'lorem ipsum '.repeat(20)]]) {
    const page = await open(browser, fawn.base), gate = where.replaceAll(' ', '-');
    await ask(page, fawn.base, scripted({ text, gate, tokens: 200, rate: 100 }));
    await atLeast(page, 20);
    const chosen = await page.evaluate(() => {
      const n = document.querySelector('.turn.last .ans p').firstChild, r = document.createRange();
      r.setStart(n, 4);
      r.setEnd(n, 19);
      getSelection().removeAllRanges();
      getSelection().addRange(r);
      return String(getSelection());
    });
    assert.equal(chosen, 'first one stand');
    await fawn.script.open(gate);
    await finished(page);
    assert.equal(await page.evaluate(() => String(getSelection())), chosen, where);
    assert.equal(await page.getAttribute('#scroll', 'data-follow'), 'false', 'selecting stops following');
    clean(page);
    await page.context().close();
  }
});

test('citations are chips with a tooltip, and the sources are listed once, also without script', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 390, height: 844 } });
  const id = await ask(page, fawn.base, scripted({ text: sample, rate: 200 }));
  await finished(page);
  const chip = page.locator('.ans a.cite').first();
  const tip = () => chip.evaluate((a) => {
    const s = getComputedStyle(a, '::after');
    return { says: s.content, wide: document.documentElement.scrollWidth - innerWidth, in: parseFloat(s.width) <= innerWidth };
  });
  assert.equal((await tip()).says, 'none');
  for (const how of ['focus', 'hover']) {
    if (how === 'focus') {
      for (let i = 0; i < 60 && !await chip.evaluate((a) => a === document.activeElement); i++) await page.keyboard.press('Shift+Tab');
    } else {
      await page.evaluate(() => document.activeElement.blur());
      await chip.hover();
    }
    const seen = await tip();
    assert.match(seen.says, /^"One" "\\a ?" "https:\/\/www\.one\.example\/a"$|One.*https:\/\/www\.one\.example\/a/s, how);
    assert.ok(seen.wide <= 0 && seen.in, how);
    await shot(page, `cite-${how}`);
  }
  assert.equal(await page.getByRole('link', { name: 'one.example: One' }).count(), 2);
  const listed = async (page) => {
    await page.click('.sources summary');
    assert.match(await page.innerText('.sources summary'), /2 cited pages not opened/);
    const list = await page.evaluate(() => [...document.querySelectorAll('.sources[open] li')].map((li) => [li.querySelector('a').href, li.innerText.replace(/\s+/g, ' '), li.querySelector('a').rel]));
    assert.deepEqual(list, [['https://www.one.example/a', 'One one.example · not opened', 'noopener noreferrer'], ['https://two.example/', 'Two two.example · not opened', 'noopener noreferrer']]);
  };
  await listed(page);
  const plain = await open(browser, fawn.base, { javaScriptEnabled: false });
  await plain.goto(`${fawn.base}/workspace/chats/${id}`);
  await plain.click('.sources summary');
  assert.equal(await plain.locator('.sources[open] li a:visible').count(), 2);
  assert.equal(await plain.locator('.ans a.cite').count(), 3);
  clean(page, plain);
  await plain.context().close();
  await page.context().close();
});

const top = (page) => page.evaluate(() => document.querySelector('#scroll').scrollTop);
const atEnd = (page) => page.waitForFunction(() => { const s = document.querySelector('#scroll'); return s.scrollHeight - s.clientHeight - s.scrollTop < 2; });
const wordsNow = (page) => page.evaluate(() => document.querySelector('.turn.last .ans').innerText.split(/\s+/).length);

for (const slow of [1, 4]) {
  test(`a wheel up stops following, the button and the end resume it, ${slow}× slow`, { skip }, async () => {
    const page = await open(browser, fawn.base);
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: slow });
    await ask(page, fawn.base, words(20_000, 150));
    await atLeast(page, 600);
    await atEnd(page);
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, -300);
    await page.waitForSelector('#down:not([hidden])');
    const stood = await until('the wheel has come to rest', () => page.evaluate(async () => {
      const s = document.querySelector('#scroll'), a = s.scrollTop;
      for (let i = 0; i < 15; i++) {
        await new Promise(requestAnimationFrame);
        if (s.scrollTop !== a) return false;
      }
      return a;
    }));
    const n = await wordsNow(page);
    await atLeast(page, n + 200); // more than a second of text
    assert.equal(await top(page), stood, 'the page moved under the reader');
    await page.click('#down');
    await atEnd(page);
    await atLeast(page, await wordsNow(page) + 60);
    await atEnd(page);
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, -200);
    await page.waitForFunction(() => document.querySelector('#scroll').dataset.follow === 'false');
    // By hand: turn the wheel until the end is there, however fast it runs away.
    await until('the reader has caught up', async () => { await page.mouse.wheel(0, 600); return page.evaluate(() => document.querySelector('#scroll').dataset.follow === 'true'); });
    await atLeast(page, await wordsNow(page) + 60);
    await atEnd(page);
    await page.click('#send [data-stop]');
    await finished(page);
    await page.evaluate(() => { document.querySelector('#scroll').scrollTop = 0; });
    await send(page, words(5));
    await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
    await finished(page);
    await atEnd(page);
    clean(page);
    await page.context().close();
  });
}
