// What an answer is made of: formulas as MathML from the server, the same while
// they stream, after the end and on a fresh page; diagrams in a frame of their own.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answerHTML, ask, clean, finished, launch, open, shot } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const bidi = [
  'Hello, this is English.', '', 'שלום עולם, זה משפט.', '', '- פריט ראשון', '- פריט שני', '', '* an item', '', '> ציטוט קצר', '', '| name | שם |', '|---|---|', '| a | אב |', '',
].join('\n');
const skip = lacks('Chromium', existsSync(chromium));
const text = String.raw`The area is $\pi r^2$ for $5 a piece, and \(a_1 + b_1\) **holds**:

$$
\begin{aligned}
a &= b + \frac{1}{2} \\
  &= c_1
\end{aligned}
$$

1. first \[x^2 = \sqrt{y}\]
2. then $z$.

| a | b |
|---|---|
| $x_1$ | *y* |

A wide one: $x_1 + x_2 + x_3 + x_4 + x_5 + x_6 + x_7 + x_8 + x_9 + x_{10} + x_{11} + x_{12} + x_{13} + x_{14} + x_{15} + x_{16} + x_{17} = 0$

\[ \sum_{i=1}^{n} i = \frac{n(n+1)}{2} = 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14 + 15 + 16 + 17 + 18 + \dots \]

Broken $\nosuch{x}$, hostile $\href{javascript:alert(1)}{x}$ and $\text{<img src=x onerror=alert(1)>}$. End.`;
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

test('formulas stream whole, end equal to a fresh page and fit into 320 px', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 320, height: 700 } });
  await page.context().addInitScript(() => {
    window.raw = [];
    new MutationObserver(() => {
      const md = document.querySelector('article.turn.last .ans .md')?.cloneNode(true);
      if (!md) return;
      for (const el of md.querySelectorAll('math, code')) el.remove();
      const marks = md.textContent.match(/\\|\$\$|\$[a-z]|begin|_\d/);
      if (marks) window.raw.push(md.textContent.slice(-80));
    }).observe(document, { subtree: true, childList: true, characterData: true });
  });
  await ask(page, fawn.base, scripted({ text, rate: 150 }));
  await finished(page);
  assert.deepEqual(await page.evaluate(() => window.raw), []);
  const math = await page.evaluate(() => [...document.querySelectorAll('.ans math')].map((m) => [m.namespaceURI.split('/').pop(), m.getBoundingClientRect().height > 4]));
  assert.equal(math.length, 9);
  for (const m of math) assert.deepEqual(m, ['MathML', true]);
  const html = await answerHTML(page);
  assert.match(html, /<code>\\nosuch\{x\}<\/code>/);
  assert.match(html, /for \$5 a piece/);
  assert.equal(await page.locator('.ans :is(img, .md a[href^="javascript"])').count(), 0);
  const wide = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  const outside = () => page.evaluate(() => [...document.querySelectorAll('.ans .md > *')].filter((el) => el.getBoundingClientRect().right > innerWidth).map((el) => el.outerHTML.slice(0, 80)));
  assert.ok(await wide() <= 0);
  assert.deepEqual(await outside(), []);
  await page.reload();
  assert.equal(await answerHTML(page), html);
  if (process.env.FAWN_SHOTS) for (const [w, h] of [[320, 900], [1000, 900]]) {
    await page.setViewportSize({ width: w, height: h });
    await shot(page, `math-${w}`);
  }
  clean(page);
});

test('brackets grow with what they hold, by a font that only formulas load', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 390, height: 844 } });
  const fonts = [];
  page.on('request', (r) => { if (/\/fonts\/math/.test(r.url())) fonts.push(r.url().split('/').pop()); });
  await ask(page, fawn.base, scripted({ text: 'Plain words and (brackets).' }));
  await finished(page);
  await page.evaluate(() => document.fonts.ready);
  assert.deepEqual(fonts, []);
  const tall = String.raw`$$\left( \frac{\frac{a}{b}}{\frac{c}{d}} \right)^2 + \left[\begin{matrix} 1 & 2 \\ 3 & 4 \\ 5 & 6 \end{matrix}\right] = \sqrt{\frac{x'}{\sum_{i=1}^n \alpha_i}}$$`;
  const id = await ask(page, fawn.base, scripted({ text: tall + '\n\nEnd.' }));
  await finished(page);
  await page.waitForFunction(() => [...document.fonts].some((f) => f.family.includes('Formula') && f.status === 'loaded'));
  assert.deepEqual(fonts, ['math.woff2'], 'the rarer alphabets are not in it');
  const heights = await page.evaluate(() => {
    const line = parseFloat(getComputedStyle(document.querySelector('math')).fontSize);
    return [...document.querySelectorAll('math mo')].filter((o) => /[()[\]]/.test(o.textContent)).map((o) => {
      const box = o.getBoundingClientRect(), beside = (o.nextElementSibling ?? o.previousElementSibling).getBoundingClientRect();
      return [o.textContent, box.height / line, box.height / beside.height];
    });
  });
  assert.equal(heights.length, 4);
  for (const [sign, lines, share] of heights) assert.ok(lines > 2 && share > 0.85, `${sign} is ${lines} lines high, ${share} of what it holds`);
  if (process.env.FAWN_SHOTS) {
    await page.goto(`${fawn.base}/workspace/chats/${id}`);
    for (const scheme of ['light', 'dark']) for (const w of [390, 1000]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width: w, height: 844 });
      await page.evaluate(() => document.fonts.ready);
      await shot(page, `brackets-${scheme}-${w}`);
    }
  }
  await ask(page, fawn.base, scripted({ text: String.raw`In fraktur $\mathfrak{g}$ it is.` }));
  await finished(page);
  await page.waitForFunction(() => [...document.fonts].some((f) => f.family.includes('Formula') && f.unicodeRange !== 'U+0-10FFFF' && f.status === 'loaded'));
  clean(page);
  await page.context().close();
});

test('a diagram is drawn in a locked frame, which is loaded only then', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const loaded = [];
  page.on('request', (r) => { if (r.url().includes('/mermaid.js')) loaded.push(r.url()); });
  const good = 'sequenceDiagram\n  Ann->>Bob: Is 5 > 4 & "so"?\n  Bob-->>Ann: Ja, größer\n';
  const hostile = 'graph TD\n  a["<img src=x onerror=parent.document.title=1>"] --> b\n  click a "javascript:alert(1)"\n  click b call alert()\n';
  await ask(page, fawn.base, scripted({ text: 'No diagram.' }));
  await finished(page);
  assert.deepEqual(loaded, []);
  const text = ['First', '```mermaid\n' + good + '```', 'then', '```mermaid\nsequenceDiagram\n  nonsense ->>>> (\n```', 'and', '```mermaid\n' + hostile + '```', 'End.'].join('\n\n');
  await ask(page, fawn.base, scripted({ text, rate: 200 }));
  await finished(page);
  const html = await answerHTML(page);
  assert.equal(await page.locator('.ans iframe').count(), 3);
  const frame = async (n) => {
    const el = page.locator('.ans iframe').nth(n);
    await el.scrollIntoViewIfNeeded();
    return el.contentFrame();
  };
  const first = await frame(0);
  await first.locator('svg').waitFor();
  assert.match(await first.locator('svg').textContent(), /größer/);
  assert.ok((await first.locator('svg').boundingBox()).height > 100);
  const lock = await first.locator('body').evaluate(() => {
    const tries = { cookie: () => document.cookie, storage: () => localStorage.length, parent: () => parent.document.title };
    return Object.keys(tries).filter((k) => { try { tries[k](); return true; } catch { return false; } });
  });
  assert.deepEqual(lock, []);
  const second = await frame(1);
  await second.locator('#problem').waitFor();
  assert.match(await second.locator('#out pre').innerText(), /nonsense/);
  const third = await frame(2);
  await third.locator('svg').waitFor();
  assert.equal(await third.locator('#out :is(img, script, [onerror], a[href^="javascript"])').count(), 0);
  await page.click('.ans details:first-of-type > summary >> nth=0');
  assert.equal(await page.locator('.ans .cb code').first().innerText(), good);
  await shot(page, 'diagram');
  assert.ok(loaded.length > 0);
  await page.reload();
  assert.equal(await answerHTML(page), html);
  clean(page);
});

// Where the first line of an element begins, seen from the sides of the answer.
const starts = (page, selector) => page.$$eval('.turn.last .md :is(' + selector + ')', (all) => all.map((el) => {
  const r = document.createRange(), box = el.closest('td, th, .md').getBoundingClientRect();
  r.selectNodeContents(el);
  const at = r.getBoundingClientRect();
  return at.left - box.left < box.right - at.right ? 'left' : 'right';
}));

test('each paragraph, item and cell runs in the direction of its script', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ text: bidi }));
  await finished(page);
  assert.deepEqual(await starts(page, 'p'), ['left', 'right', 'right']);
  assert.deepEqual(await starts(page, 'li'), ['right', 'right', 'left']);
  assert.deepEqual(await starts(page, 'td'), ['left', 'right']);
  assert.deepEqual(await page.$$eval('.turn.last .md :is(ul, blockquote)', (all) => all.map((el) => getComputedStyle(el).direction)), ['rtl', 'ltr', 'rtl'], 'marks stand on the right side');
  await shot(page, 'bidi');
  clean(page);
  await page.context().close();
});
