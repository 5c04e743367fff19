// What a page shows comes from answers and from its stream, which arrive in either order, and from other windows, of which
// it hears nothing while it rests: the page ends as a fresh one whatever came first.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, atLeast, clean, finished, launch, newChat, open, send } from './browser.mjs';
import { chromium, held, lacks, scripted, start, until, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start({ models: { planner: 'display_name: Planner, supports_thinking: true' } }), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

// late lets the server answer the next request for an address at once, and the page hear of it when the result is called.
const late = async (page, url) => {
  let tell, done;
  const told = new Promise((r) => { tell = r; }), answered = new Promise((r) => { done = r; });
  await page.route(url, async (route) => {
    const response = await route.fetch();
    done();
    await told;
    await route.fulfill({ response }).catch(() => {}); // the page may have given up
  }, { times: 1 });
  return { answered, tell };
};
const state = async (id) => (await fetch(`${fawn.base}/threads/${id}/state`)).json();
const ended = (id, messages) => until(`${messages} messages`, async () => {
  const s = await state(id);
  return s.values.messages.length >= messages && !s.next.length;
});
const texts = (page, selector) => page.locator(selector).allTextContents();
// same compares a page with a fresh one of the same chat.
const same = async (page) => {
  const look = () => Promise.all(['.you', '.turn .ans', '#queue li .nm:first-child', '#todos .what', '#title'].map((s) => texts(page, s)));
  const live = await look();
  await page.reload();
  assert.deepEqual(live, await look());
  return live;
};
const queue = async (page, text, n) => {
  await send(page, text);
  await page.waitForFunction((n) => document.querySelectorAll('#queue li').length === n, n);
};

test('a late answer brings no message back into the queue', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, held('ghost', 5));
  await atLeast(page, 3);
  await queue(page, scripted({ text: 'Removed.' }), 1);
  await queue(page, scripted({ text: 'Next.' }), 2);
  const answer = await late(page, '**/remove');
  await page.click('#queue li:first-child [data-queue-act=remove]');
  await answer.answered;
  await fawn.script.open('ghost');
  await page.waitForFunction(() => document.querySelector('.turn.last .ans')?.innerText === 'Next.');
  await finished(page);
  answer.tell();
  await page.waitForFunction(() => !document.querySelector('#queue [disabled]'));
  await page.waitForTimeout(200); // nothing tells that an answer changed nothing
  assert.equal(await page.locator('#queue li').count(), 0);
  await same(page);
  clean(page);
});

test('a message that is queued is shown though the stream tells of an older queue', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, held('older', 5));
  await atLeast(page, 3);
  const other = await page.tab();
  await other.goto(page.url());
  await queue(other, words(3), 1);
  await queue(page, words(4), 2);
  await other.click('#queue li:first-child [data-queue-act=remove]');
  await other.waitForFunction(() => document.querySelectorAll('#queue li').length === 1);
  assert.deepEqual(await texts(other, '#queue li .nm:first-child'), [words(4)]);
  await fawn.script.open('older');
  for (const p of [page, other]) {
    await p.bringToFront();
    await p.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
    await finished(p);
    assert.equal(await p.locator('#queue li').count(), 0);
    await same(p);
  }
  clean(page, other);
});

test('a window at rest that sends while another one works follows that work', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ text: 'Zero.' }));
  await finished(page);
  const other = await page.tab();
  await other.goto(page.url());
  await page.bringToFront();
  await send(page, held('elsewhere', 5));
  await atLeast(page, 3);
  await other.bringToFront();
  await send(other, scripted({ text: 'Second.' }));
  await other.waitForFunction(() => document.querySelectorAll('article.turn').length === 2);
  await other.waitForSelector('#send [data-stop]');
  assert.equal(await other.locator('#queue li').count(), 1);
  await fawn.script.open('elsewhere');
  await other.waitForFunction(() => document.querySelector('.turn.last .ans')?.innerText === 'Second.');
  await finished(other);
  const [, answers] = await same(other);
  assert.equal(answers.length, 3);
  clean(page, other);
});

test('a window at rest that sends shows what was said in another one before', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, scripted({ text: 'Zero.' }));
  await finished(page);
  const other = await page.tab();
  await other.goto(page.url());
  await page.bringToFront();
  await send(page, scripted({ text: 'First.' }));
  await ended(id, 4);
  await other.bringToFront();
  await send(other, scripted({ text: 'Second.' }));
  await other.waitForFunction(() => document.querySelector('.turn.last .ans')?.innerText === 'Second.');
  await finished(other);
  const [, answers] = await same(other);
  assert.deepEqual(answers, ['Zero.', 'First.', 'Second.']);
  clean(page, other);
});

test('a late answer takes no step of the plan back', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const plan = (...todos) => [{ name: 'write_todos', args: { todos: todos.map((content, i) => ({ content, status: i ? 'pending' : 'in_progress' })) } }];
  await page.goto(fawn.base + newChat);
  await page.click('[popovertarget=models]');
  await page.click('#models label:has([value=planner])');
  await send(page, scripted({ tool_calls: plan('one', 'two') }, { text: 'Working', gate: 'plan', tokens: 1, tool_calls: plan('one', 'two', 'three') },
    { text: 'More', gate: 'plan-end', tokens: 1 }));
  await page.waitForFunction(() => /of 2/.test(document.querySelector('#plan > summary')?.innerText));
  await page.focus('#plan > summary');
  await page.keyboard.press('Enter');
  const answer = await late(page, '**/plan');
  await page.fill('#plan-add', 'mine');
  await page.press('#plan-add', 'Enter');
  await answer.answered;
  await fawn.script.open('plan');
  await page.waitForFunction(() => /three/.test(document.querySelector('#todos')?.textContent));
  answer.tell();
  await page.waitForTimeout(300);
  assert.match(await page.textContent('#todos'), /three/);
  await fawn.script.open('plan-end');
  await finished(page);
  await same(page);
  clean(page);
});

const writes = (...names) => names.map((n) => (
  { name: 'write_file', args: { description: 'write it', path: `/mnt/user-data/outputs/${n}`, content: `This is ${n}.` } }));
const presents = (...names) => [{ name: 'present_files', args: { filepaths: names.map((n) => `/mnt/user-data/outputs/${n}`) } }];

test('the panel shows the file that was asked for last', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 1000, height: 800 } });
  await ask(page, fawn.base, scripted({ tool_calls: writes('one.txt', 'two.txt') }, { tool_calls: presents('one.txt', 'two.txt') }, { text: 'Both.' }));
  await finished(page);
  const slow = await late(page, '**/panel/**/one.txt*');
  await page.click('.cards a[data-panel$="one.txt"]');
  await slow.answered;
  await page.locator('.cards a[data-panel$="two.txt"]').dispatchEvent('click');
  await page.waitForFunction(() => document.querySelector('#panel h2')?.innerText === 'two.txt');
  await page.waitForURL(/two\.txt$/);
  slow.tell();
  await page.waitForTimeout(300);
  assert.equal(await page.innerText('#panel h2'), 'two.txt');
  assert.match(page.url(), /two\.txt$/);
  // One that is closed stays closed.
  const again = await late(page, '**/panel/**/one.txt*');
  await page.locator('.cards a[data-panel$="one.txt"]').dispatchEvent('click');
  await again.answered;
  await page.locator('#panel [data-panel-close]').click();
  await page.waitForSelector('#panel', { state: 'hidden' });
  again.tell();
  await page.waitForTimeout(300);
  assert.ok(await page.locator('#panel').isHidden());
  clean(page);
});

for (const first of [true, false]) {
  test(`a run that is over before its page hears of it shows its file, in ${first ? 'a new chat' : 'one that is there'}`, { skip }, async () => {
    const page = await open(browser, fawn.base);
    const task = scripted({ tool_calls: writes('quick.md') }, { tool_calls: presents('quick.md') }, { text: 'There it is.' });
    if (!first) {
      await ask(page, fawn.base, scripted({ text: 'Zero.' }));
      await finished(page);
    } else await page.goto(fawn.base + newChat);
    const answer = await late(page, first ? '**/ui/threads' : '**/messages');
    const id = await page.getAttribute('#compose', 'data-thread');
    await send(page, task);
    await answer.answered;
    await ended(id, first ? 6 : 8);
    answer.tell();
    await page.waitForSelector('#panel:not([hidden])');
    assert.equal(await page.innerText('#panel h2'), 'quick.md');
    assert.ok(await page.evaluate(() => document.activeElement.id === 'q'), 'without taking the focus');
    await page.goBack();
    await page.waitForSelector('#panel', { state: 'hidden' });
    await page.reload();
    await page.waitForTimeout(300);
    assert.ok(await page.locator('#panel').isHidden(), 'only once');
    clean(page);
  });
}

test('a file that is taken back while it is uploaded does not go with the message', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  const answer = await late(page, '**/uploads');
  await page.setInputFiles('#pick', { name: 'secret.txt', mimeType: 'text/plain', buffer: Buffer.from('not for the model') });
  await answer.answered;
  await page.click('#chips [data-remove]');
  await send(page, words(3));
  answer.tell();
  await page.waitForURL(/\/workspace\/chats\/(?!new)/);
  await finished(page);
  const id = new URL(page.url()).pathname.split('/').pop();
  const list = await (await fetch(`${fawn.base}/api/threads/${id}/uploads/list`)).json();
  assert.deepEqual((list.files ?? []).map((f) => f.filename), []);
  clean(page);
});

test('a name given while the first answer is written stays', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, scripted({ text: 'Some words. ', gate: 'named', tokens: 2, tool_calls: [{ name: 'write_todos', args: { todos: [] } }] }, { text: 'More.', gate: 'named-end', tokens: 2 }));
  await atLeast(page, 2).catch(() => {});
  const rename = async (name) => {
    await page.click('[popovertarget=thread-menu]');
    await page.fill('#thread-menu [name=title]', name);
    await page.press('#thread-menu [name=title]', 'Enter');
    await page.waitForFunction((name) => document.querySelector('#title').textContent === name, name);
  };
  const named = async (name) => {
    assert.equal(await page.textContent('#title'), name);
    assert.match(await page.title(), new RegExp('^' + name));
    assert.match(await page.textContent('#tl-' + id), new RegExp(name));
  };
  await rename('My own name');
  await fawn.script.open('named');
  await page.waitForFunction(() => document.querySelector('.turn.last .ans')?.innerText.includes('More') || document.querySelector('.trail'));
  await named('My own name');
  await rename('Another name');
  await fawn.script.open('named-end');
  await finished(page);
  await named('Another name');
  await page.reload();
  await named('Another name');
  assert.equal((await state(id)).values.title, 'Another name');
  clean(page);
});

test('a window at rest catches up when somebody comes back to it', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, scripted({ text: 'Zero.' }));
  await finished(page);
  const other = await page.tab();
  await other.goto(page.url());
  const back = (p) => p.evaluate(() => { window.dispatchEvent(new Event('focus')); }); // headless windows all have it
  const asked = page.waitForResponse(/status\?turn=1/);
  await back(page);
  await asked;
  await page.evaluate(() => { document.querySelector('.turn').mark = true; });
  await send(other, scripted({ text: 'First.' }));
  await ended(id, 4);
  await finished(other);
  await back(page);
  await page.waitForFunction(() => document.querySelector('.turn.last .ans')?.innerText === 'First.');
  await finished(page);
  await same(page);
  await send(other, held('back', 5));
  await atLeast(other, 3);
  await back(page);
  await page.waitForSelector('#send [data-stop]');
  await fawn.script.open('back');
  await finished(page);
  assert.equal((await same(page))[1].length, 3);
  // What is being changed stays, and a chat that was deleted says so.
  await page.hover('.mine >> nth=0');
  await page.click('.mine [data-act=edit] >> nth=0');
  await page.waitForSelector('.rewrite textarea');
  await send(other, scripted({ text: 'Third.' }));
  await ended(id, 8);
  await back(page);
  await page.waitForTimeout(200);
  assert.equal(await page.locator('.rewrite').count(), 1);
  await page.click('.rewrite [data-cancel]');
  await page.waitForFunction(() => !document.querySelector('.rewrite'));
  await fetch(`${fawn.base}/threads/${id}`, { method: 'DELETE' });
  await back(page);
  await page.waitForSelector('#banner:not([hidden])');
  assert.match(await page.innerText('#banner'), /deleted/);
  await send(page, 'Anybody there?');
  await page.waitForSelector('#problem:not([hidden])');
  assert.match(await page.innerText('#problem'), /may have been deleted/);
  assert.equal(await page.inputValue('#q'), 'Anybody there?');
  clean(page, other);
});

test('a window at rest shows that another one went on with the last answer', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ text: 'Half of it', gate: 'half', tokens: 1 }, { text: 'The rest.' }));
  await page.waitForSelector('#send [data-stop]');
  await page.click('#send [data-stop]');
  await page.waitForSelector('.card.stopped');
  await finished(page);
  const other = await page.tab();
  await other.goto(page.url());
  await other.click('.card.stopped button');
  await other.waitForFunction(() => document.querySelector('.turn.last .ans')?.innerText === 'The rest.');
  await finished(other);
  await page.evaluate(() => { window.dispatchEvent(new Event('focus')); });
  await page.waitForFunction(() => document.querySelector('.turn.last .ans')?.innerText === 'The rest.');
  await finished(page);
  // What is as on the server stays as it is.
  await page.evaluate(() => { document.querySelector('.turn').mark = true; });
  const asked = page.waitForResponse(/status\?turn=1/);
  await page.evaluate(() => { window.dispatchEvent(new Event('focus')); });
  await asked;
  await page.waitForTimeout(200);
  assert.ok(await page.evaluate(() => document.querySelector('.turn').mark));
  await same(page);
  clean(page, other);
});

test('a chat that is deleted while its run is followed says so', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const id = await ask(page, fawn.base, held('deleted', 5));
  await atLeast(page, 3);
  const other = await page.tab();
  await other.goto(page.url());
  await atLeast(other, 3);
  await queue(page, words(3), 1);
  await fetch(`${fawn.base}/threads/${id}`, { method: 'DELETE' });
  for (const p of [page, other]) await p.waitForFunction(() => /may have been deleted/.test(document.body.innerText) || document.querySelector('.card.stopped'));
  await fawn.script.open('deleted');
});
