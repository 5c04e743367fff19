// How the pages look and what they weigh: accessibility in both themes and on a
// phone, no policy violation, sizes, requests and layout shift.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, atLeast, clean, finished, launch, newChat, open, send, shot, violations } from './browser.mjs';
import { chromium, lacks, start, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const report = [
  '# Heat pump or gas?', '', 'Over ten years the heat pump is **cheaper** in a well insulated house.', '',
  '| | Heat pump | Gas |', '|---|---:|---:|', '| Purchase | 14,200 | 8,900 |', '| Ten years of energy | 9,800 | 17,400 |', '',
  '1. Measure the heat the house loses.', '2. Ask for two offers.', '', '```python', 'saving = 17_400 - 9_800', 'print(saving)', '```', '',
  'See [ADEME](https://www.ademe.fr/) for the method.',
].join('\n');
const outputs = '/mnt/user-data/outputs/';
const files = {
  'report.md': report + '\n\n![The two, year by year](chart.svg)\n',
  'chart.svg': '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200"><path d="M0 190L400 20" stroke="#17674C" stroke-width="4"/></svg>',
  'prices.csv': 'year,gas,electricity,note\n2026,0.121,0.252,"base, as published"\n2027,0.126,0.249,\n2028,0.131,0.247,tax step\n',
};
let fawn, browser, thread, step, message;

const forms = [
  { name: 'light', colorScheme: 'light' },
  { name: 'dark', colorScheme: 'dark' },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  { name: 'phone-dark', colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
];
const inPanel = (name) => `/workspace/chats/${thread}?file=mnt/user-data/outputs/${name}`;
const pages = [['welcome', () => newChat], ['thread', () => `/workspace/chats/${thread}`], ['document', () => inPanel('report.md')],
  ['table', () => inPanel('prices.csv')], ['source', () => inPanel('prices.csv') + '&tab=code'], ['drawing', () => inPanel('chart.svg')], ['picture', () => `/workspace/chats/${thread}/files/mnt/user-data/outputs/chart.svg`],
  ['step', () => step], ['usage', () => `/ui/threads/${thread}/usage`], ['edit', () => `/workspace/chats/${thread}?edit=${message}`],
  ['files', () => `/workspace/chats/${thread}/files`], ['chats', () => '/workspace/chats'], ['delete', () => `/ui/threads/${thread}/delete`],
  ['settings', () => '/workspace/settings/appearance'], ['sandbox', () => '/workspace/settings/sandbox'], ['about', () => '/workspace/settings/about'], ['models', () => '/workspace/settings/models'], ['model', () => '/workspace/settings/models?add=compatible'],
  ['tools', () => '/workspace/settings/tools'], ['mcp', () => '/workspace/settings/mcp'], ['account', () => '/workspace/settings/account'],
  ['tasks', () => '/workspace/scheduled-tasks'], ['agents', () => '/workspace/agents'], ['skills', () => '/workspace/skills'], ['newagent', () => '/workspace/agents/new'], ['noagent', () => '/workspace/agents/one-with-quite-a-long-name-of-its-own'],
  ['notify', () => '/workspace/settings/notifications'], ['menu', () => `/ui/threads/${thread}/menu`], ['search', () => '/workspace/chats?q=heat'], ['missing', () => '/workspace/chats/no-such-thread']];

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
  await fawn.script.rules([{ match: 'heat pump', script: { turns: [
    { reasoning: 'The reader wants a comparison over ten years.', text: 'I look at what is there first.',
      tool_calls: [{ name: 'ls', args: { description: 'Look for files', path: '/mnt/user-data/workspace' } }] },
    { tool_calls: Object.entries(files).map(([name, content]) => ({ name: 'write_file', args: { description: 'Write', path: outputs + name, content } })) },
    { tool_calls: [{ name: 'present_files', args: { filepaths: Object.keys(files).map((name) => outputs + name) } }] },
    { text: report }] } }]);
  const page = await open(browser, fawn.base);
  thread = await ask(page, fawn.base, 'Should I buy a heat pump or keep the gas boiler?');
  await finished(page);
  step = await page.getAttribute('.turn.last .step.tool:not(.group) .sd', 'hx-get');
  message = await page.getAttribute('.turn.last .mine', 'id').then((id) => id.slice('u-'.length));
  await page.context().close();
});
after(async () => { await browser?.close(); await fawn?.stop(); });

for (const [form, dark] of [forms.slice(0, 2), forms.slice(2)]) {
  test(`every page, ${form.name} and ${dark.name}: no accessibility violation, no sideways scroll`, { skip }, async (t) => {
    const page = await open(browser, fawn.base, form);
    for (const [name, path] of pages) {
      await t.test(name, async () => {
        await page.emulateMedia({ colorScheme: form.colorScheme });
        await page.goto(fawn.base + path());
        await page.evaluate(() => document.fonts.ready);
        for (const { name: look, colorScheme } of [form, dark]) {
          await page.emulateMedia({ colorScheme });
          await shot(page, `${name}-${look}`);
          assert.deepEqual(await violations(page), [], look);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wide <= 0, `${look}: the page is ${wide} px too wide`);
        }
        clean(page);
      });
    }
    await page.context().close();
  });
}

test('mid-run, in every form: no accessibility violation', { skip }, async () => {
  for (const { name, ...form } of forms) {
    const page = await open(browser, fawn.base, form);
    await ask(page, fawn.base, words(20_000, 50));
    await atLeast(page, 10);
    await shot(page, `running-${name}`);
    assert.deepEqual(await violations(page), []);
    await page.click('#send [data-stop]');
    await finished(page);
    clean(page);
    await page.context().close();
  }
});

test('320 px wide there is no sideways scroll and nothing is cut off, in both languages', { skip }, async () => {
  for (const [locale, finger] of [['en-GB', false], ['zh-CN', false], ['en-GB', true], ['zh-CN', true]]) { // what a finger can hit is larger
    const page = await open(browser, fawn.base, { viewport: { width: 320, height: 640 }, locale, hasTouch: finger, isMobile: finger });
    for (const [name, path] of pages) {
      await page.goto(fawn.base + path());
      assert.equal(await page.getAttribute('html', 'lang'), locale === 'zh-CN' ? 'zh-CN' : 'en');
      await page.evaluate(() => document.fonts.ready);
      await shot(page, `${name}-320-${locale}`);
      const out = await page.evaluate(() => [...document.querySelectorAll('h1, h2, p, button, a, input, select, textarea, img')]
        .filter((el) => el.checkVisibility() && !el.closest('.vh, .skip, .tbl, pre, .grid, .scroll.flush, [popover]') && !el.matches('.vh, .skip'))
        .filter((el) => { const r = el.getBoundingClientRect(); return r.width > 0 && (r.right > innerWidth + 1 || r.left < -1); })
        .map((el) => el.outerHTML.slice(0, 120)));
      assert.deepEqual(out, [], `${name} ${locale}${finger ? ' by finger' : ''}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
    }
    clean(page);
    await page.context().close();
  }
});

test('zoomed in four times, most of the screen is for reading', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 320, height: 256 } });
  await page.goto(`${fawn.base}/workspace/chats/${thread}`);
  const read = await page.locator('#scroll').boundingBox();
  assert.ok(read.height >= 128, `${read.height} px are left to read in`);
  await page.focus('#q');
  await page.locator('#send button').waitFor();
  assert.deepEqual(await violations(page), []);
  await page.context().close();
});

test('in forced colours states can still be told apart', { skip }, async () => {
  const page = await open(browser, fawn.base, { forcedColors: 'active' });
  await page.goto(`${fawn.base}/workspace/chats/${thread}`);
  await page.click('.trail > summary');
  await shot(page, 'forced-colors');
  const dot = await page.evaluate(() => getComputedStyle(document.querySelector('.step.done:not(.note)'), '::before').backgroundColor);
  assert.notEqual(dot, await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('.tl[aria-current=page]')).outlineStyle), 'solid', 'the chat that is open stands out');
  assert.deepEqual(await violations(page), []);
  await page.context().close();
});

test('assets may be kept for a year and come compressed', { skip }, async () => {
  const html = await fetch(fawn.base + newChat).then((r) => r.text());
  const path = html.match(/\/assets\/[^"]+\/app\.js/)[0];
  const res = await fetch(fawn.base + path, { headers: { 'Accept-Encoding': 'gzip' } });
  assert.match(res.headers.get('cache-control'), /immutable/);
  assert.match(res.headers.get('content-type'), /javascript/);
});
