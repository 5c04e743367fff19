// The message box: what is typed is never lost, what is not meant is never sent.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answer, ask, atLeast, clean, count, finished, launch, newChat, open, send } from './browser.mjs';
import { chromium, held, lacks, scripted, start, until, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ shared: true, config: 'uploads: {max_file_size: 1MB}\n' }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

// posts counts the messages a page sends.
const posts = (page) => {
  const list = [];
  page.on('request', (r) => { if (r.method() === 'POST' && /\/ui\/threads(\/[^/]+\/messages)?$/.test(r.url())) list.push(r.url()); });
  return list;
};
const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.tagName);
const selected = (page) => page.evaluate(() => { const q = document.querySelector('#q'); return q.value.slice(q.selectionStart, q.selectionEnd); });

test('the welcome page is ready to type, and a starter waits for its placeholder', { skip }, async () => {
  const page = await open(browser, fawn.base), sent = posts(page);
  await page.goto(fawn.base + newChat);
  assert.ok((await page.innerText('h1')).length > 3);
  assert.equal(await focused(page), 'q');
  assert.equal(await page.locator('[data-starter]').count(), 5);
  await page.click('[data-starter] >> nth=0');
  assert.equal(await selected(page), '[topic]');
  await page.press('#q', 'End');
  await page.press('#q', 'Enter');
  await page.waitForSelector('#problem:not([hidden])');
  assert.equal(await selected(page), '[topic]', 'the placeholder is selected again');
  assert.deepEqual(sent, []);
  await page.keyboard.type('moss');
  assert.match(await page.inputValue('#q'), /moss/);
  assert.equal(await page.locator('#problem:not([hidden])').count(), 0);
  clean(page);
});

test('a message shows at once, the chat tops the list, and its title comes by itself', { skip }, async (t) => {
  const page = await open(browser, fawn.base);
  const former = await ask(page, fawn.base, words(3));
  await finished(page);
  const id = await ask(page, fawn.base, words(30, 60) + ' about a subject that takes many words to name');
  const list = await page.locator('.tl').evaluateAll((all) => all.map((el) => el.id).join(' '));
  assert.ok(list.includes('tl-' + id) && list.indexOf(id) < list.indexOf(former), list);
  await finished(page);
  const titles = () => page.evaluate((id) => [document.title.split(' · ')[0], ...['#title', `#tl-${id} span`].map((s) => document.querySelector(s).textContent)], id);
  const live = await titles();
  assert.equal(new Set(live).size, 1, `bar, list and tab say ${live}`);
  await page.reload();
  assert.deepEqual(await titles(), live);
  const times = [];
  for (let i = 0; i < 3; i++) { // the model says nothing before its gate is open
    await page.fill('#q', held(`shows-${i}`, 0, 3));
    times.push(await page.evaluate(() => new Promise((done) => {
      const n = document.querySelectorAll('.you').length, from = performance.now();
      new MutationObserver((_, o) => {
        if (document.querySelectorAll('.you').length > n) { o.disconnect(); done(performance.now() - from); }
      }).observe(document.querySelector('#turns'), { childList: true });
      document.querySelector('#q').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
    })));
    await fawn.script.open(`shows-${i}`);
    await finished(page);
  }
  t.diagnostic(`shown after ${times.map(Math.round)} ms`);
  clean(page);
});

const waiting = (page) => page.locator('#queue li .nm:first-child').allInnerTexts();
const queue = async (page, text, n) => {
  await send(page, text);
  await page.waitForFunction((n) => document.querySelectorAll('#queue li').length === n, n);
  assert.equal(await page.inputValue('#q'), '');
};

test('Enter while a run works puts the message into a queue, and it is sent after the run', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, held('queue', 10));
  await atLeast(page, 5);
  await queue(page, words(4), 1);
  await queue(page, words(5), 2);
  await queue(page, words(6), 3);
  await page.reload();
  assert.deepEqual(await waiting(page), [words(4), words(5), words(6)], 'a reload keeps the queue');
  await page.click('#queue li:nth-child(2) [data-queue-act=remove]');
  await page.waitForFunction(() => document.querySelectorAll('#queue li').length === 2);
  await page.click('#queue li:nth-child(2) [data-queue-act=edit]');
  await page.waitForFunction(() => document.querySelectorAll('#queue li').length === 1);
  await page.waitForFunction((text) => document.querySelector('#q').value === text, words(6));
  await page.fill('#q', '');
  await fawn.script.open('queue');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  assert.equal(count(await answer(page)), 4);
  await page.waitForFunction(() => !document.querySelector('#queue li'));
  clean(page);
});

test('Enter while the message before is still on its way sends the next one after it', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ text: 'Zero.', gate: '' }));
  await finished(page);
  let release;
  const slow = new Promise((r) => { release = r; });
  await page.route('**/messages', async (route) => { await slow; await route.continue(); });
  await send(page, scripted({ text: 'First.', gate: '' }));
  await page.waitForSelector('#compose[aria-busy]');
  await send(page, scripted({ text: 'Second.', gate: '' }));
  release();
  await page.waitForFunction(() => document.querySelector('article.turn.last .ans')?.innerText === 'Second.');
  await finished(page);
  await page.waitForFunction(() => [...document.querySelectorAll('.turn .ans')].map((a) => a.textContent.trim()).join() === 'Zero.,First.,Second.');
  assert.equal(await page.inputValue('#q'), '');
  clean(page);
});

test('an answer to a message that comes after what the stream told of it takes nothing back', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ text: 'Zero.', gate: '' }));
  await finished(page);
  let answer, listen;
  const answered = new Promise((r) => { answer = r; }), listening = new Promise((r) => { listen = r; });
  await page.route('**/stream?*', async (route) => { await listening; await route.continue(); });
  await send(page, scripted({ text: 'First.', gate: '' }));
  await page.waitForSelector('article.turn:nth-of-type(2)');
  const thread = page.url().split('/').pop();
  for (let n = 0; (await (await fetch(`${fawn.base}/threads/${thread}/state`)).json()).values.messages.length < 4; n++) {
    assert.ok(n < 200, 'the second message is not answered');
    await new Promise((r) => setTimeout(r, 50));
  }
  await page.route('**/messages', async (route) => {
    const response = await route.fetch();
    listen();
    await answered;
    await route.fulfill({ response });
  });
  await send(page, held('ahead', 10));
  await atLeast(page, 10);
  answer();
  await page.waitForSelector('#compose:not([aria-busy])');
  await fawn.script.open('ahead');
  await finished(page);
  assert.equal(count(await page.locator('article.turn.last .ans').innerText()), 11);
  assert.equal(await page.locator('article.turn').count(), 3);
  clean(page);
});

test('the queue waits after a stop, until it is sent by hand', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const first = held('stopped-queue', 10);
  await ask(page, fawn.base, first);
  await atLeast(page, 5);
  await queue(page, words(4), 1);
  await queue(page, words(5), 2);
  await page.click('#send [data-stop]');
  await finished(page);
  await page.waitForFunction(() => /paused/.test(document.querySelector('#queue-title')?.innerText));
  assert.equal(await page.locator('article.turn').count(), 1);
  await page.reload();
  assert.deepEqual(await waiting(page), [words(4), words(5)]);
  await page.click('#queue li:nth-child(2) [data-queue-act=send]');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 3);
  await finished(page);
  assert.deepEqual(await page.locator('.you').allInnerTexts(), [first, words(5), words(4)], 'what ends well takes the next along');
  clean(page);
});

test('Enter that ends an input method sends nothing', { skip }, async () => {
  const page = await open(browser, fawn.base), sent = posts(page);
  await page.goto(fawn.base + newChat);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Input.imeSetComposition', { text: 'ni hao', selectionStart: 6, selectionEnd: 6 });
  const enter = { key: 'Process', code: 'Enter', windowsVirtualKeyCode: 229, nativeVirtualKeyCode: 229 };
  await cdp.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...enter });
  await page.evaluate(() => document.querySelector('#q').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true })));
  await cdp.send('Input.insertText', { text: '你好' });
  await cdp.send('Input.dispatchKeyEvent', { type: 'keyUp', ...enter });
  assert.equal(await page.inputValue('#q'), '你好');
  assert.deepEqual(sent, []);
  await page.press('#q', 'Shift+Enter');
  await page.keyboard.type(words(2));
  assert.deepEqual(sent, []);
  assert.ok((await page.inputValue('#q')).startsWith('你好\n'));
  await page.press('#q', 'Enter');
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await finished(page);
  assert.match(await page.innerText('.you'), /^你好\n/);
});

test('on a touch keyboard Enter is a new line', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }), sent = posts(page);
  await page.goto(fawn.base + newChat);
  await page.fill('#q', words(2));
  await page.press('#q', 'Enter');
  assert.equal(await page.inputValue('#q'), words(2) + '\n');
  assert.deepEqual(sent, []);
  await page.tap('#send button');
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await finished(page);
});

test('a draft belongs to its thread, survives a reload and goes when it is sent', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const one = await ask(page, fawn.base, words(3));
  await finished(page);
  await page.fill('#q', 'thought for one');
  const two = await ask(page, fawn.base, words(3));
  await finished(page);
  assert.equal(await page.inputValue('#q'), '');
  await page.fill('#q', words(4));
  await page.reload();
  assert.equal(await page.inputValue('#q'), words(4));
  await page.goto(`${fawn.base}/workspace/chats/${one}`);
  assert.equal(await page.inputValue('#q'), 'thought for one');
  await page.goto(`${fawn.base}/workspace/chats/${two}`);
  await page.press('#q', 'Enter');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  await page.reload();
  assert.equal(await page.inputValue('#q'), '');
  await page.goto(fawn.base + newChat);
  assert.equal(await page.inputValue('#q'), '', 'a new chat has no draft of another');
  clean(page);
});

test('arrow up in an empty box walks through what was sent', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, words(2));
  await finished(page);
  await send(page, words(3));
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  for (const want of [words(3), words(2), words(2)]) {
    await page.press('#q', 'ArrowUp');
    assert.equal(await page.inputValue('#q'), want);
  }
  await page.press('#q', 'ArrowDown');
  assert.equal(await page.inputValue('#q'), words(3));
});

test('files come by drop and paste with their progress, can be taken back, and go with the message', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  let go;
  const held = new Promise((done) => { go = done; });
  await page.route('**/uploads', async (route) => { await held; await route.continue(); });
  await page.evaluate(() => {
    const drop = new DataTransfer();
    drop.items.add(new File(['a,b\n1,2\n'], 'dropped.csv'));
    const fire = (type) => document.body.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: drop }));
    fire('dragenter');
    if (!document.querySelector('.drop')) throw new Error('no drop target');
    fire('dragover');
    fire('drop');
    if (document.querySelector('.drop')) throw new Error('the drop target stays');
    const paste = new DataTransfer();
    paste.items.add(new File(['words'], 'pasted.txt'));
    document.querySelector('#q').dispatchEvent(new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: paste }));
  });
  assert.equal(await page.locator('#chips progress').count(), 2);
  await page.fill('#q', words(3));
  await page.press('#q', 'Enter');
  assert.match(await page.innerText('#problem'), /upload/);
  go();
  await page.waitForFunction(() => document.querySelectorAll('#chips li:not(:has(progress))').length === 2);
  await page.setInputFiles('#pick', { name: 'wide.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(1_100_000) });
  await page.waitForSelector('#chips li.rose[data-name="wide.bin"]');
  assert.match(await page.innerText('#problem'), /wide\.bin/);
  let gone;
  const leave = new Promise((done) => { gone = done; });
  await page.route('**/uploads/*/delete', async (route) => { await leave; await route.continue(); });
  await page.click('#chips li[data-name="pasted.txt"] [data-remove]');
  assert.notEqual(await focused(page), 'BODY');
  await page.click('#chips li.rose [data-remove]');
  assert.deepEqual(await page.locator('#chips li .nm').allInnerTexts(), ['dropped.csv']);
  await page.press('#q', 'Enter'); // goes out when the server has let go of what was taken back
  gone();
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await finished(page);
  assert.deepEqual(await page.locator('.mine .chip .nm').allInnerTexts(), ['dropped.csv']);
  assert.equal(await page.locator('#chips li').count(), 0);
  clean(page);
});

test('stop answers in the very moment and marks what was in progress', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, words(2000, 50));
  await atLeast(page, 5);
  await page.evaluate(() => {
    const b = document.querySelector('#send [data-stop]');
    b.click();
    if (!b.disabled || !/Stopping/.test(b.getAttribute('aria-label'))) throw new Error('the button says nothing');
  });
  await finished(page);
  assert.equal(await page.locator('.turn.last.stop .card.stopped').count(), 1);
  await page.waitForFunction(() => document.querySelector('#send button:not([data-stop], [data-queue])'));
  await ask(page, fawn.base, scripted({ reasoning_tokens: 3000, rate: 60 }));
  await page.waitForSelector('.step.reasoning.run');
  // Twice within a moment, which a slow machine may miss.
  await until('Escape stops the run', async () => {
    await page.press('#q', 'Escape');
    await page.press('#q', 'Escape');
    return await page.locator('#send [data-stop]:not(:disabled)').count() === 0;
  });
  await finished(page);
  assert.equal(await page.locator('.step.run').count(), 0);
  await page.click('.card.stopped button');
  await page.waitForFunction(() => document.querySelector('.turn.last.run, .turn.last.done'));
  await finished(page);
  assert.equal(await focused(page), 'q');
});

test('keys lead where they say, and the focus is never lost', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, words(3));
  await finished(page);
  await page.locator('#scroll').focus();
  await page.keyboard.press('/');
  assert.equal(await focused(page), 'q');
  assert.equal(await page.inputValue('#q'), '');
  await page.keyboard.type('a/b');
  assert.equal(await page.inputValue('#q'), 'a/b', 'inside the box it is a letter');
  await page.click('[popovertarget="thread-menu"]');
  await page.waitForSelector('#thread-menu:popover-open');
  await page.keyboard.press('Escape');
  assert.notEqual(await focused(page), 'BODY');
  await page.click('[popovertarget="thread-menu"]');
  await page.click('[data-dialog="thread-menu-del"]');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !document.querySelector('dialog[open]'));
  assert.notEqual(await focused(page), 'BODY');
  await page.keyboard.press('Control+Shift+O');
  await page.waitForURL(fawn.base + newChat);
  await page.goto(`${fawn.base}/workspace/chats/${id}`);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Enter');
  await page.keyboard.type('x');
  assert.match(await page.inputValue('#q'), /x$/);
  clean(page);
});

test('a chat is renamed and deleted', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, words(3));
  await finished(page);
  await page.click('[popovertarget="thread-menu"]');
  await page.fill('#thread-menu-t', 'Moss & <ferns>');
  await page.press('#thread-menu-t', 'Enter');
  await page.waitForFunction(() => document.querySelector('#title').textContent === 'Moss & <ferns>');
  await until('the list says so', async () => (await page.innerText(`#tl-${id}`)).includes('Moss & <ferns>'));
  await page.click('[popovertarget="thread-menu"]');
  await page.click('#thread-menu button[name=pinned]');
  await page.waitForSelector(`[data-pinned] #tl-${id}`);
  await page.click('[popovertarget="thread-menu"]');
  await page.click('[data-dialog="thread-menu-del"]');
  await page.click('dialog[open] .btn.rose');
  await page.waitForURL((u) => u.pathname === newChat);
  assert.equal(await page.locator('#tl-' + id).count(), 0);
  assert.equal((await fetch(`${fawn.base}/workspace/chats/${id}`)).status, 404);
  clean(page);
});
