// The first message leads into its chat without a page load, and nothing is lost on the way.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answer, clean, count, finished, launch, newChat, open, send, violations } from './browser.mjs';
import { chromium, held, lacks, start, until, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ shared: true }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const inChat = /\/workspace\/chats\/(?!new)[\w-]+$/;
const value = (page) => page.inputValue('#q');
const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.tagName);
// marked opens a new chat whose window carries a mark, which no page load leaves in place.
const marked = async (page) => {
  await page.goto(fawn.base + newChat);
  await page.evaluate(() => { window.mark = performance.timeOrigin; });
};
const sameDocument = (page) => page.evaluate(() => window.mark === performance.timeOrigin);
// hold keeps the answers to a kind of request back until it is let go.
const hold = async (page, url, method) => {
  let go;
  const gate = new Promise((done) => { go = done; });
  await page.route(url, async (route) => {
    if (route.request().method() === method) await gate;
    await route.continue();
  });
  return go;
};

test('the message is painted before the request is answered, and the chat is entered in place', { skip }, async () => {
  const page = await open(browser, fawn.base), loads = [];
  await marked(page);
  page.on('request', (r) => { if (r.isNavigationRequest()) loads.push(r.url()); });
  const go = await hold(page, '**/ui/threads', 'POST');
  await send(page, held('enter', 6));
  await page.waitForSelector('.you');
  assert.equal(new URL(page.url()).pathname, newChat, 'not yet answered');
  assert.equal(await value(page), '');
  await page.keyboard.type('and then');
  go();
  await page.waitForURL(inChat);
  await page.waitForSelector('article.turn.last.run');
  assert.equal(await value(page), 'and then', 'what is typed on the way stays in the box');
  await page.keyboard.type(' more');
  assert.equal(await value(page), 'and then more', 'and the caret is where it was');
  const id = new URL(page.url()).pathname.split('/').pop();
  assert.equal(await page.locator('.you').count(), 1);
  assert.equal(await page.locator('#tl-' + id).count(), 1);
  assert.equal(await page.locator('#side [aria-current=page]').count(), 1);
  assert.equal(await page.getAttribute('#tl-' + id, 'aria-current'), 'page');
  assert.equal(await page.locator('.welcome, .hello').count(), 0);
  await page.waitForSelector('#send [data-stop]');
  await until('screen readers are told', () => page.evaluate(() => document.querySelector('#say').textContent !== ''));
  await fawn.script.open('enter');
  await finished(page);
  assert.equal(await page.evaluate(() => document.title.split(' · ')[0]), await page.innerText('#title'));
  assert.deepEqual(await violations(page), []);
  await page.press('#q', 'Enter');
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  assert.ok(await sameDocument(page));
  assert.equal(await page.evaluate(() => performance.getEntriesByType('navigation').length), 1);
  assert.deepEqual(loads, []);
  assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage).filter((k) => k.startsWith('draft:'))), []);
  clean(page);
});

test('Back leads to the welcome page and Forward into the chat, also after a reload', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await marked(page);
  await send(page, words(4));
  await page.waitForURL(inChat);
  await finished(page);
  const chat = page.url();
  const welcome = async () => {
    await page.goBack();
    await page.waitForSelector('.hello #q:focus');
    assert.equal(new URL(page.url()).pathname, newChat);
    assert.equal(await value(page), '');
    assert.equal(await page.locator('.you').count(), 0);
    assert.notEqual(await page.getAttribute('#compose', 'data-thread'), chat.split('/').pop(), 'a chat of its own');
  };
  const back = async () => {
    await page.goForward();
    await page.waitForSelector('article.turn.last.done');
    assert.equal(page.url(), chat);
    assert.equal(count(await answer(page)), 4);
  };
  await welcome();
  await back();
  await page.reload();
  await page.waitForSelector('article.turn.last.done');
  await welcome();
  await back();
  clean(page);
});

test('a message that is refused is in the box again, with the reason', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await marked(page);
  const refused = {
    'too long for you': (route) => route.fulfill({ status: 422, json: { error: 'too long for you' } }),
    'too many at once': (route) => route.fulfill({ status: 429, json: { error: 'too many at once' } }),
    'could not be sent': (route) => route.fulfill({ status: 507, body: 'disk full' }),
    'couldn’t be sent': (route) => route.abort(),
  };
  for (const [why, how] of Object.entries(refused)) {
    await page.route('**/ui/threads', how);
    await send(page, words(3));
    await page.waitForSelector('#problem:not([hidden])');
    assert.ok((await page.innerText('#problem')).length > 10, why);
    if (why.startsWith('too')) assert.equal(await page.innerText('#problem'), why);
    assert.equal(await value(page), words(3));
    assert.equal(await page.locator('.you').count(), 0);
    assert.equal(await focused(page), 'q');
    assert.ok(await page.isVisible('h1'));
    await page.unroute('**/ui/threads');
  }
  await send(page, '/compact'); // the server's own refusal
  await page.waitForSelector('#problem:not([hidden])');
  assert.equal(await value(page), '/compact');
  // What was typed in the meantime is kept as well.
  await page.route('**/ui/threads', async (route) => { await page.keyboard.type('more'); await route.abort(); });
  await send(page, words(3));
  await page.waitForSelector('#problem:not([hidden])');
  assert.equal(await value(page), words(3) + '\nmore');
  await page.reload();
  assert.equal(await value(page), words(3) + '\nmore');
  await page.unroute('**/ui/threads');
  await send(page, words(3));
  await finished(page);
  assert.ok(await page.evaluate(() => window.mark === undefined)); // the reload
  page.wrong = page.wrong.filter((w) => !/^507/.test(w));
  clean(page);
});

test('a chat whose page cannot be fetched is loaded', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await marked(page);
  await page.route('**/workspace/chats/*', (route) => (route.request().isNavigationRequest() ? route.continue() : route.abort()));
  const go = await hold(page, '**/ui/threads', 'POST');
  await send(page, words(3));
  await page.waitForSelector('.you');
  await page.keyboard.type('later');
  go();
  await page.waitForURL(inChat);
  await finished(page);
  assert.ok(!await sameDocument(page));
  assert.equal(await value(page), 'later');
});

test('files travel along, also those without words and those chosen on the way', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await marked(page);
  await page.setInputFiles('#pick', { name: 'first.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n') });
  await page.waitForSelector('#chips li[data-name="first.csv"]:not(:has(progress))');
  const go = await hold(page, '**/ui/threads', 'POST'), uploaded = await hold(page, '**/uploads', 'POST');
  await page.press('#q', 'Enter');
  await page.waitForSelector('.you');
  assert.equal(await page.innerText('.you'), 'first.csv');
  await page.setInputFiles('#pick', { name: 'second.csv', mimeType: 'text/csv', buffer: Buffer.from('c,d\n3,4\n') });
  await page.waitForSelector('#chips progress');
  go();
  await page.waitForURL(inChat);
  await page.waitForSelector('#chips li[data-name="second.csv"] progress');
  assert.deepEqual(await page.locator('.mine .chip .nm').allInnerTexts(), ['first.csv']);
  uploaded();
  await page.waitForSelector('#chips li[data-name="second.csv"]:not(:has(progress))');
  await finished(page);
  await send(page, words(2));
  await page.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await finished(page);
  assert.deepEqual(await page.locator('.mine .chip .nm').allInnerTexts(), ['first.csv', 'second.csv']);
  assert.equal(await page.locator('#chips li').count(), 0);
  assert.ok(await sameDocument(page));
  clean(page);
});

test('the commands of the box are those of the page that is shown', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await marked(page);
  const commands = async () => {
    await page.press('#q', '/');
    await page.waitForSelector('#q ~ [popover]:popover-open');
    const list = await page.locator('#q ~ [popover] [role=option]').evaluateAll((all) => all.map((o) => o.dataset.text.trim()));
    await page.fill('#q', '');
    return list;
  };
  const before = await commands();
  await send(page, words(3));
  await page.waitForURL(inChat);
  await finished(page);
  const now = await commands();
  assert.ok(!before.includes('/compact') && now.includes('/compact'), `${before} then ${now}`);
  await send(page, '/new ' + words(5));
  await page.waitForURL((u) => u.pathname === newChat);
  assert.equal(await value(page), words(5));
  clean(page);
});

test('on a phone the side bar that lay open is gone with its page', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await marked(page);
  const go = await hold(page, '**/ui/threads', 'POST');
  await send(page, words(3));
  await page.waitForSelector('.you');
  await page.tap('.menu-btn');
  await page.waitForSelector('dialog.sheet[open]');
  go();
  await page.waitForURL(inChat);
  await finished(page);
  assert.equal(await page.locator('dialog.sheet').count(), 0);
  assert.equal(await page.locator('#side').count(), 1);
  assert.ok(await sameDocument(page));
  clean(page);
});
