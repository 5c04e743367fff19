// The browser side of the harness: one Chromium a test file, pages that collect
// whatever goes wrong in them, and the few gestures all tests share.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium as browsers } from 'playwright-core';
import { chromium, engine, gate } from './harness.mjs';

const options = (args, whole) => ({
  executablePath: whole ? chromium : engine,
  timeout: 120_000,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', ...args],
});

// launch starts a browser, or connects to the gate's, whose contexts are apart from those of other files; only a
// whole one has a viewer of PDFs.
export const launch = ({ args = [], whole = false } = {}) => (gate && !args.length && !whole
  ? browsers.connect(gate.browser, { timeout: 120_000 })
  : browsers.launch(options(args, whole)));

// serve starts a browser for several test files.
export const serve = () => browsers.launchServer(options([], false));

// watch collects errors, policy violations and requests to other origins. The viewer of PDFs is a
// part of the browser.
const watch = (page, base) => {
  const wrong = [];
  page.on('pageerror', (e) => wrong.push('page error: ' + e.message));
  page.on('console', (m) => { if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) wrong.push('console: ' + m.text()); });
  page.on('request', (r) => {
    const u = r.url();
    if (!u.startsWith(base) && !/^(data|blob|about|chrome-extension|chrome):/.test(u)) wrong.push('request to another origin: ' + u);
  });
  page.on('response', (r) => { if (r.status() >= 500) wrong.push(`${r.status()} ${r.url()}`); });
  return wrong;
};

// open makes a page in a browser context of its own. page.wrong must stay empty.
export const open = async (browser, base, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(90_000);
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (e) => console.error(`CSP: ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
  });
  const page = await context.newPage();
  page.wrong = watch(page, base);
  if (options.javaScriptEnabled === false) whole(page);
  patient(page);
  page.tab = async () => {
    const other = await context.newPage();
    other.wrong = watch(other, base);
    return other;
  };
  return page;
};

// patient makes a page load again also while another one is taking its place: Chromium refuses that for a moment.
const patient = (page) => {
  const reload = page.reload.bind(page);
  page.reload = async (...args) => {
    for (let tries = 1; ; tries++) {
      try {
        return await reload(...args);
      } catch (e) {
        if (tries === 10 || !/Not attached to an active page/.test(e.message)) throw e;
        await new Promise((r) => setTimeout(r, 100));
      }
    }
  };
};

// whole makes a click on a page without scripts end when the page it leads to is parsed: Playwright
// itself waits for its first byte only, and what is counted then may not have arrived.
const whole = (page) => {
  const frame = page.mainFrame(), click = frame.click.bind(frame);
  frame.click = async (...args) => {
    await click(...args);
    await page.waitForLoadState('domcontentloaded');
  };
};

export const newChat = '/workspace/chats/new';

export const send = async (page, text) => {
  await page.fill('#q', text);
  // On a touch keyboard Enter is a new line.
  if (await page.evaluate(() => matchMedia('(pointer: coarse)').matches)) await page.tap('#send button');
  else await page.press('#q', 'Enter');
};

// ask opens a new chat with a message and returns the thread's id.
export const ask = async (page, base, text) => {
  await page.goto(base + newChat);
  await send(page, text);
  await page.waitForURL(/\/workspace\/chats\/(?!new)[\w-]+(\?|$)/);
  await page.waitForSelector('article.turn');
  return new URL(page.url()).pathname.split('/').pop();
};

// finished waits until no turn is running any more.
export const finished = (page, timeout = 120_000) =>
  page.waitForFunction(() => {
    const last = document.querySelector('article.turn.last');
    return last && !last.hasAttribute('aria-busy') && last.querySelector('.end .acts, .end .card');
  }, null, { timeout });

export const answer = (page) => page.locator('article.turn.last .ans').innerText();
export const answerHTML = (page) => page.locator('article.turn.last .ans').innerHTML();

// atLeast waits until the last answer has n words.
export const atLeast = (page, n) =>
  page.waitForFunction((n) => (document.querySelector('article.turn.last .ans')?.innerText.match(/\S+/g) ?? []).length >= n, n);

export const count = (text) => (text.match(/\S+/g) ?? []).length;

export const clean = (...pages) => {
  for (const p of pages) assert.deepEqual(p.wrong, []);
};

// shot keeps a picture of a page for people, in the folder FAWN_SHOTS. Nothing is checked
// with it, and a busy machine at times cannot take one.
export const shot = async (page, name) => {
  if (process.env.FAWN_SHOTS) await page.screenshot({ path: join(process.env.FAWN_SHOTS, name + '.png') });
};

// copies clicks a button that copies, and waits until it has said so, which it does for a moment only.
export const copies = async (button) => {
  await button.evaluate((el) => {
    window.copied = false;
    new MutationObserver(() => { window.copied ||= el.innerText.includes('Copied'); }).observe(el, { childList: true, characterData: true, subtree: true });
  });
  await button.click();
  await button.page().waitForFunction(() => window.copied);
};

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// violations are the rules of accessibility that a page breaks, once all of it is there.
export const violations = async (page) => {
  await page.waitForLoadState();
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  return found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(' ')).join(' | ')}`);
};
