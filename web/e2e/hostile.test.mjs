// The worst that a model, a tool or a name could say: nothing of it acts, leaves
// the server or breaks the page, and the page stays quick.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answerHTML, ask, clean, finished, launch, open, shot } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const bidi = '\u202e\u2066\u200b\u200d\u2060\ufeff';
const html = [
  '<img src=x onerror="pwned=1">', '<script>pwned=1</script>', '<svg onload="pwned=1">', '<iframe src="https://evil.example/"></iframe>',
  '<style>*{display:none}</style>', '<meta http-equiv=refresh content="0;url=https://evil.example/">', '<base href="https://evil.example/">',
  '<form action="https://evil.example/"><button>x</button></form>', '<a href="javascript:pwned=1" id="q" hx-get="https://evil.example/" hx-trigger="load">x</a>',
  '<div id="send" class="vh" popover data-send>x</div>', '<link rel=stylesheet href="https://evil.example/a.css">', '</div></article></main><h1>Out</h1>',
].join('\n\n');
const links = [
  ...['javascript:pwned=1', 'JaVaScRiPt:pwned=1', 'data:text/html,<script>pwned=1</script>', 'vbscript:pwned', 'file:///etc/passwd', '//evil.example/', '/ui/threads/x/delete'].map((u) => `[x](<${u}>) ![x](<${u}>) <${u}>`),
  '![pixel](https://evil.example/pixel.gif)', '[citation:Evil](javascript:pwned=1)', '[ref]\n\n[ref]: javascript:pwned=1', 'A **fine** end.',
].join('\n\n');
const table = (rows, columns) => [Array(columns).fill('a'), Array(columns).fill('-'), ...Array.from({ length: rows }, (_, i) => Array(columns).fill(i))].map((r) => `|${r.join('|')}|`).join('\n');
const answers = {
  'raw HTML': html,
  'bad links': links,
  'one line of words': 'word '.repeat(210_000),
  'one line without blanks': 'x'.repeat(1 << 20),
  'a line of a megabyte in a code block': '```js\nlet a = "' + 'x'.repeat(1 << 20) + '"\n```\n',
  'a fence that is never closed': 'Look:\n\n```html\n' + '<script>pwned=1</script>\n'.repeat(4000),
  'a table of 10,000 rows': table(10_000, 3),
  'a table of 500 columns': table(200, 500),
  'lists and quotes in one another': Array.from({ length: 300 }, (_, i) => ' '.repeat(2 * i) + '- x').join('\n') + '\n\n' + '>'.repeat(3000) + ' deep\n\n' + '- '.repeat(2000) + 'x',
  'stars, brackets and tags': ['*', '[', '<', '`', '_', '![', '~~', '[^', '\\(', '<a '].map((c) => c.repeat(10_000)).join('\n\n'),
  'formulas': '$$' + '\\frac{1}{'.repeat(2000) + 'x' + '}'.repeat(2000) + '$$\n\n' + '$x^{2}$ '.repeat(5000) + '\n\n$$' + 'x+'.repeat(20_000) + 'x$$\n\n$\\def\\a{\\a\\a}\\a$',
  'characters that turn, hide and pile up': `a${bidi}b **${bidi}bold** [l${bidi}ink](https://example.org/${bidi}) \`${bidi}code\` e${'\u0301'.repeat(5000)} ${'﷽'.repeat(500)} end`,
};
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({ scripted: ', context_window: 100000000', config: 'sandbox: {write_file_max_bytes: 0, read_file_output_max_chars: 0}\n' }), launch()]);
  await fawn.script.rules(Object.entries(answers).map(([name, text]) => ({ match: name, script: { turns: [{ reasoning: text.slice(0, 60_000), text, chunk: 4000 }] } })));
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const timed = async (what) => {
  const from = performance.now();
  const out = await what();
  return [Math.round(performance.now() - from), out];
};

// inert looks for whatever came alive.
const inert = async (page, where) => {
  const found = await page.evaluate(() => ({
    pwned: typeof window.pwned, title: document.querySelectorAll('h1').length,
    alive: [...document.querySelectorAll('main :is(script, style, iframe:not([sandbox="allow-scripts"][src^="/ui/"]), object, embed, base, link:not([rel="stylesheet"][href^="/assets/"][href$="/cards.css"]), meta, img[src^="http"], form[action^="http"])')].map((e) => e.outerHTML.slice(0, 80)),
    acts: [...document.querySelectorAll('#turns *, #list *')].flatMap((e) => [...e.attributes].filter((a) => /^on|^style$/.test(a.name) || /^(href|src|action|hx-)/.test(a.name) && /^\s*(javascript|data|vbscript|file|blob):|^\/\//i.test(a.value)).map((a) => `${e.tagName} ${a.name}=${a.value.slice(0, 40)}`)),
    turned: [...document.querySelectorAll('#turns .ans, #turns .trail, #list, .bar h1, .cards')].filter((e) => /[\u202a-\u202e\u2066-\u2069]/.test(e.textContent)).map((e) => e.className + e.id),
    wide: document.documentElement.scrollWidth - innerWidth,
    double: [...document.querySelectorAll('[id]')].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i).slice(0, 3),
  }));
  assert.deepEqual(found, { pwned: 'undefined', title: 1, alive: [], acts: [], turned: [], wide: Math.min(found.wide, 0), double: [] }, where);
};

// cutOff are words of an answer that stand where no reader can scroll to.
const cutOff = (page) => page.evaluate(() => [...document.querySelectorAll('.ans .md *')]
  .filter((e) => !e.closest('pre, .tbl, .tex, math') && e.checkVisibility())
  .filter((e) => { const r = e.getBoundingClientRect(); return r.width < 4 && e.matches('p, li') || r.right > innerWidth + 1 || r.left < -1; }).map((e) => e.outerHTML.slice(0, 80)).slice(0, 3));

test('an answer can say what it likes', { skip }, async (t) => {
  const page = await open(browser, fawn.base, { viewport: { width: 900, height: 800 } });
  page.on('dialog', (d) => { page.wrong.push('dialog ' + d.message()); d.dismiss(); });
  const table = [];
  for (const name of Object.keys(answers)) {
    await t.test(name, async () => {
      let id;
      const [stream] = await timed(async () => { id = await ask(page, fawn.base, name); await finished(page); });
      const live = await answerHTML(page);
      await inert(page, 'streamed');
      const [server, body] = await timed(() => fetch(`${fawn.base}/workspace/chats/${id}`).then((r) => r.text()));
      const [load] = await timed(() => page.reload());
      const same = await answerHTML(page) === live;
      await inert(page, 'loaded');
      const [click] = await timed(async () => {
        await page.locator('.trail > summary').first().click();
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      });
      await page.setViewportSize({ width: 390, height: 800 });
      assert.deepEqual(await cutOff(page), [], 'on a phone');
      await shot(page, `hostile-phone-${name.replaceAll(/\W+/g, '-')}`);
      await page.setViewportSize({ width: 900, height: 800 });
      const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
      table.push({ name, stream, server, load, click, nodes, KB: Math.round(body.length / 1024) });
      await shot(page, `hostile-${name.replaceAll(/\W+/g, '-')}`);
      assert.ok(same, 'a fresh page shows the same');
      assert.ok(nodes < 80_000 && body.length < 6 << 20, `${nodes} elements, ${body.length} bytes`);
      assert.ok(server < 30_000 && load < 60_000 && click < 30_000, 'too slow');
      clean(page);
    });
  }
  for (const r of table) t.diagnostic(`${r.name}: streamed in ${r.stream} ms, page made in ${r.server} ms, ${r.KB} KB, ${r.nodes} elements, loaded in ${r.load} ms, a click answered in ${r.click} ms`);
  await page.context().close();
});

test('tools, their output, files and titles can say what they like', { skip }, async (t) => {
  const page = await open(browser, fawn.base, { viewport: { width: 1200, height: 800 } });
  page.on('dialog', (d) => { page.wrong.push('dialog ' + d.message()); d.dismiss(); });
  const outputs = '/mnt/user-data/outputs/';
  const files = {
    [`<img src=x onerror=pwned=1> gpj${bidi}.html`]: '<p>What active files may not do is in files.test.mjs.</p>',
    [`${'long'.repeat(50)}.md`]: html + '\n\n' + links,
    'line.txt': 'x'.repeat(1 << 20),
    'rows.csv': 'a,<script>pwned=1</script>\n' + `=1+1,"<img src=x onerror=pwned=1>${bidi}"\n`.repeat(10_000),
  };
  const write = (path, content) => ({ name: 'write_file', args: { description: html, path: outputs + path, content } });
  const odd = { name: '<img/src=x/onerror=pwned=1>', args: { [html]: 'x'.repeat(200_000), path: bidi + html } };
  await fawn.script.rules([{ match: 'pwned', script: { turns: [
    { reasoning: html, text: links, tool_calls: Object.entries(files).map(([name, content]) => write(name, content)) },
    { tool_calls: [...Object.keys(files).map((name) => ({ name: 'read_file', args: { description: bidi, path: outputs + name } })),
      { ...odd, id: '"><script>pwned=1</script>' }, { ...odd, id: 'twice' }, { ...odd, id: 'twice' }, { name: 'read_file', raw: '{"path": "<script>pwned=1</script>' }] },
    { tool_calls: [{ name: 'present_files', args: { filepaths: Object.keys(files).map((name) => outputs + name) } }] },
    { text: 'That was all.' }] } }]);
  const id = await ask(page, fawn.base, `${html} ${bidi}${'title'.repeat(100)}`);
  await finished(page);
  await inert(page, 'streamed');
  await page.reload();
  await inert(page, 'loaded');
  await page.click('.turn.last .trail > summary');
  await page.evaluate(() => { for (const d of document.querySelectorAll('.trail details')) d.open = true; });
  await page.waitForFunction(() => [...document.querySelectorAll('.trail .step.tool:not(.group) .body')].every((b) => b.querySelector('.out')));
  await inert(page, 'all steps opened');
  await shot(page, 'hostile-steps');
  const title = `${html}${bidi}`.slice(0, 200);
  for (const name of [title, bidi + '<b>x</b>' + bidi]) {
    const res = await fetch(`${fawn.base}/threads/${id}/state`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ values: { title: name } }) });
    assert.ok(res.ok, `${res.status}`);
  }
  const cards = await page.evaluate(() => [...document.querySelectorAll('.cards[id] a.open')].map((a) => a.getAttribute('href')));
  assert.equal(cards.length, Object.keys(files).length);
  const search = '/workspace/chats?q=' + encodeURIComponent('<img src=x onerror="pwned=1">' + bidi);
  for (const path of [`/workspace/chats/${id}`, ...cards, ...cards.map((c) => c + (c.includes('?') ? '&' : '?') + 'tab=code'), `/workspace/chats/${id}/files`, '/workspace/chats', search, `/ui/threads/${id}/delete`]) {
    const [ms] = await timed(() => page.goto(fawn.base + path));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await inert(page, path);
    const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
    t.diagnostic(`${path.slice(0, 90)}: loaded in ${ms} ms, ${nodes} elements`);
    assert.ok(nodes < 80_000, `${nodes} elements`);
    await shot(page, `hostile-at-${path.slice(0, 60).replaceAll(/\W+/g, '-')}-${ms}`);
  }
  clean(page);
  await page.context().close();
});
