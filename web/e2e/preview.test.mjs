// Previews: each kind of file as the panel and its own page show it, in a real browser.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clean, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, start, until } from './harness.mjs';
import { docx, xlsx, zip } from './pack.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const folder = 'mnt/user-data/uploads/';
const forms = [
  { name: 'light', colorScheme: 'light' },
  { name: 'dark', colorScheme: 'dark', alone: true },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
];
const city = (i) => [`City ${i}`, 1000 + i, i / 100, i % 2 ? 'north' : 'south'];
// wav is a second of silence.
const wav = () => {
  const b = Buffer.alloc(44 + 8000, 128);
  b.write('RIFF'); b.writeUInt32LE(36 + 8000, 4); b.write('WAVEfmt ', 8); b.writeUInt32LE(16, 16); b.writeUInt16LE(1, 20); b.writeUInt16LE(1, 22);
  b.writeUInt32LE(8000, 24); b.writeUInt32LE(8000, 28); b.writeUInt16LE(1, 32); b.writeUInt16LE(8, 34); b.write('data', 36); b.writeUInt32LE(8000, 40);
  return b;
};
const files = {
  'sales.xlsx': xlsx({
    Sales: [['City', 'Orders', 'Share', 'Region'], ...Array.from({ length: 600 }, (_, i) => city(i + 1))],
    'Q3 & Q4': [['Quarter', 'Total'], ['Q3', 4100], ['Q4', '<img src=x onerror=alert(1)>']],
    Empty: [],
  }),
  'few.xlsx': xlsx({ Sales: [['City', 'Orders', 'Share', 'Region'], city(1), city(2)], 'Q3 & Q4': [['Quarter', 'Total'], ['Q3', 4100]] }),
  'few.zip': zip({ 'index.html': '<script>alert(1)</script>', '../../etc/passwd': 'x', 'pages/1.html': 'x' }),
  'letter.docx': docx('An offer of the harbour office.', 'It costs 400 francs.'),
  'site.zip': zip({ 'index.html': '<script>alert(1)</script>', '../../etc/passwd': 'x', 'img/\u202egnp.exe': 'y', ...Object.fromEntries(Array.from({ length: 1100 }, (_, i) => [`pages/${String(i).padStart(4, '0')}.html`, 'x'])) }),
  'broken.zip': Buffer.from('PK\x03\x04 nothing'),
  'maps.skill': zip({ 'maps/SKILL.md': '---\nname: maps\ndescription: Draws maps of any town.\n---\n# Maps\n\nAsk for a **town** <img src=x onerror=alert(1)>.\n', 'maps/draw.py': 'print(1)\n' }),
  'study.ipynb': JSON.stringify({ metadata: { language_info: { name: 'python' } }, cells: [
    { cell_type: 'markdown', source: ['# A study\n', 'of **harbours** <img src=x onerror=alert(1)>'] },
    { cell_type: 'code', execution_count: 3, source: 'total = sum(n for n in range(10))\ntotal', outputs: [
      { output_type: 'stream', text: ['<script>alert(1)</script>\n'] }, { output_type: 'execute_result', data: { 'text/html': '<b>45</b>', 'text/plain': '45' } },
      { output_type: 'display_data', data: { 'image/png': 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'text/plain': '<Figure>' } },
      { output_type: 'error', ename: 'ZeroDivisionError', evalue: 'division by zero', traceback: ['\u001b[0;31mZeroDivisionError\u001b[0m: division by zero'] }] }] }),
  'notes.md': Array.from({ length: 300 }, (_, i) => `Line ${i + 1}\n`).join(''),
  'sound.wav': wav(),
  'broken.docx': Buffer.from('PK\x03\x04 nothing'),
  'IMG_1.HEIC': Buffer.from('\x00\x00\x00\x18ftypheic\x00\x00\x00\x00', 'latin1'),
};
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch({ whole: true })]);
  const page = await browser.newPage();
  page.setDefaultTimeout(90_000);
  await page.setContent(Array.from({ length: 9 }, (_, i) => `<section style="break-after:page"><h1>Part ${i + 1}</h1>
    ${`<p>The lighthouse number ${i + 1} was built by the harbour office in the year ${1900 + i}.</p>`.repeat(12)}</section>`).join(''));
  files['photo.png'] = await page.screenshot({ clip: { x: 0, y: 0, width: 1200, height: 700 } });
  files['report.pdf'] = await page.pdf({ format: 'A5' });
  await page.setContent('');
  files['empty.pdf'] = await page.pdf({ format: 'A5' });
  await page.close();
  const json = { 'Content-Type': 'application/json' };
  await fetch(fawn.base + '/api/threads', { method: 'POST', headers: json, body: '{"thread_id":"kinds"}' });
  const all = Object.entries(files);
  for (let i = 0; i < all.length; i += 8) { // a request takes only so many
    const form = new FormData();
    for (const [name, body] of all.slice(i, i + 8)) form.append('files', new Blob([body]), name);
    assert.equal((await fetch(fawn.base + '/api/threads/kinds/uploads', { method: 'POST', body: form })).status, 200);
  }
  await until('all are read', async () => {
    const list = await fetch(fawn.base + '/api/threads/kinds/uploads/list').then((r) => r.json());
    return list.files.every((f) => f.conversion?.state !== 'pending');
  }, 120_000);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const inPanel = (name, more = '') => `${fawn.base}/workspace/chats/kinds?file=${encodeURIComponent(folder + name)}${more}`;
const alone = (name, more = '') => `${fawn.base}/workspace/chats/kinds/files/${folder}${name}${more}`;

test('a workbook has a tab for each sheet, by mouse, keyboard and address', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(inPanel('sales.xlsx'));
  const tab = (name) => page.getByRole('tab', { name, exact: true });
  const panel = page.getByRole('tabpanel');
  await panel.getByRole('cell', { name: 'City 500', exact: true }).waitFor();
  assert.match(await panel.innerText(), /Only the first 500 of 600 rows are shown/);
  await tab('Q3 & Q4').click();
  await panel.getByRole('cell', { name: '<img src=x onerror=alert(1)>' }).waitFor();
  assert.equal(await tab('Q3 & Q4').getAttribute('aria-selected'), 'true');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Q3 & Q4', 'the focus stays on the tab');
  await page.waitForURL(/at=sheet-2/);
  await page.waitForFunction(() => document.querySelector('[role=tab]').tabIndex === -1);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Space');
  await panel.getByText('This sheet is empty.').waitFor();
  await page.reload();
  await panel.getByText('This sheet is empty.').waitFor();
  assert.equal(await page.locator('[role=tab][tabindex="0"]').innerText(), 'Empty');
  await page.keyboard.press('Escape');
  await page.goto(alone('sales.xlsx', '?at=sheet-2'));
  await panel.getByRole('cell', { name: '4100' }).waitFor();
  clean(page);
});

test('a workbook can be read without JavaScript', { skip }, async () => {
  const page = await open(browser, fawn.base, { javaScriptEnabled: false });
  await page.goto(alone('sales.xlsx'));
  await page.getByRole('tab', { name: 'Q3 & Q4' }).click();
  await page.getByRole('cell', { name: '4100' }).waitFor();
});

test('a PDF has its text beside it, or behind a switch where there is no room', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(alone('report.pdf', '?at=page-7'));
  await page.locator('.duo .doc').getByRole('heading', { name: 'Part 7' }).waitFor();
  assert.match(await page.getAttribute('.duo iframe', 'src'), /#page=7$/);
  const boxes = await Promise.all([page.locator('.duo iframe').boundingBox(), page.locator('.duo > .scroll').boundingBox()]);
  assert.ok(boxes[0].x + boxes[0].width <= boxes[1].x && boxes[0].y === boxes[1].y, JSON.stringify(boxes));
  const inView = (name) => page.locator('.duo .doc').getByRole('heading', { name }).evaluate((h) => {
    const { top } = h.getBoundingClientRect(), box = h.closest('.scroll').getBoundingClientRect();
    return top >= box.top - 1 && top < box.bottom;
  });
  assert.ok(await inView('Part 7'), 'the text stands at the page');
  await page.goto(inPanel('report.pdf', '&at=page-7'));
  await page.locator('#panel iframe').waitFor();
  assert.equal(await page.locator('.duo > .scroll').isVisible(), false);
  await page.evaluate(() => { document.querySelector('.duo iframe').dataset.same = ''; });
  await until('the switch works without a load', async () => {
    await page.getByRole('link', { name: 'Text', exact: true }).click();
    await page.locator('.duo > .scroll').waitFor();
    return page.locator('iframe[data-same]').count();
  });
  assert.ok(await inView('Part 7'), 'and there it stands at the page, too');
  await page.reload();
  await page.locator('.duo > .scroll').waitFor();
  assert.equal(await page.locator('#panel iframe').isVisible(), false);
  await page.getByRole('link', { name: 'Pages', exact: true }).click();
  await page.locator('#panel iframe').waitFor();
  clean(page);
});

test('other documents are shown by their text, or say why not', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(inPanel('letter.docx'));
  await page.locator('#panel .doc', { hasText: 'It costs 400 francs.' }).waitFor();
  await page.goto(inPanel('broken.docx'));
  await page.locator('#panel .empty', { hasText: 'Damaged' }).waitFor();
  clean(page);
});

test('a document that the agent made shows itself when it is read, in the panel and on its page', { skip }, async () => {
  const outputs = join(fawn.data, 'threads', 'kinds', 'user-data', 'outputs');
  mkdirSync(outputs, { recursive: true });
  for (const [name, folder] of [['panel', 'workspace/chats/kinds?file=mnt/user-data/outputs/'], ['page', 'workspace/chats/kinds/files/mnt/user-data/outputs/']]) {
    writeFileSync(join(outputs, name + '.xlsx'), xlsx({ Orders: [['City', 'Orders'], [name, 4100]], Costs: [['City', 'Costs'], [name, 77]] }));
    const page = await open(browser, fawn.base);
    await page.goto(`${fawn.base}/${folder}${name}.xlsx`);
    await page.getByRole('cell', { name: '4100' }).waitFor();
    await page.getByRole('tab', { name: 'Costs' }).click();
    await page.getByRole('cell', { name: '77' }).waitFor();
    clean(page);
    await page.context().close();
  }
});

test('a PDF without text and a picture that browsers cannot show say so', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(inPanel('empty.pdf'));
  await page.locator('#panel .noted .notice').waitFor();
  await page.locator('#panel .noted iframe').waitFor();
  await page.goto(inPanel('IMG_1.HEIC'));
  await page.locator('#panel .empty', { hasText: 'can’t show HEIC images' }).waitFor();
  clean(page);
});

test('archives and skills are listed, and nothing in them does anything', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(inPanel('site.zip'));
  const panel = page.locator('#panel');
  await panel.getByText('1103 files · ').waitFor();
  assert.equal(await panel.locator('.entries tbody tr').count(), 1000);
  assert.match(await panel.innerText(), /outside the target folder[^]*img\/gnp\.exe[^]*103 more files aren’t listed/);
  await page.goto(inPanel('broken.zip'));
  await panel.getByText('damaged, or isn’t the kind of archive').waitFor();
  await page.goto(inPanel('maps.skill'));
  await panel.getByRole('heading', { name: 'Maps', exact: true }).waitFor();
  assert.match(await panel.innerText(), /description\s+Draws maps of any town\.[^]*2 files[^]*maps\/draw\.py/);
  clean(page);
});

test('a notebook is its cells and what came of them', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(inPanel('study.ipynb'));
  const panel = page.locator('#panel');
  await panel.getByRole('heading', { name: 'A study' }).waitFor();
  assert.match(await panel.innerText(), /Run 3[^]*sum\(n for n[^]*<script>alert\(1\)<\/script>[^]*45[^]*ZeroDivisionError: division by zero/);
  await page.waitForFunction(() => document.querySelector('img.out').naturalWidth > 0);
  await panel.getByRole('link', { name: 'Code', exact: true }).click();
  await panel.locator('.src', { hasText: 'language_info' }).waitFor();
  clean(page);
});

test('a picture is made larger and smaller by buttons, keys and wheel', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(inPanel('photo.png'));
  await page.locator('.zoom').waitFor();
  const size = () => page.locator('.pic img').evaluate((i) => Math.round(i.getBoundingClientRect().width / i.naturalWidth * 100));
  await page.waitForFunction(() => document.querySelector('.pic img').naturalWidth === 1200 && document.querySelector('.zoom output').value !== '0 %');
  const fit = await size();
  assert.ok(fit < 60, `it fits at ${fit} %`);
  assert.equal(await page.locator('.zoom output').innerText(), `${fit} %`);
  await page.getByRole('button', { name: '100 %' }).click();
  assert.equal(await size(), 100);
  await page.getByRole('button', { name: 'Zoom in' }).click();
  assert.equal(await size(), 125);
  await page.focus('.pic');
  await page.keyboard.press('-');
  assert.equal(await size(), 100);
  const box = await page.locator('.pic').boundingBox(), x = box.x + 100, y = box.y + 120;
  const under = () => page.evaluate(([x, y]) => { const r = document.querySelector('.pic img').getBoundingClientRect(); return [(x - r.left) / r.width, (y - r.top) / r.height]; }, [x, y]);
  const before = await under();
  await page.mouse.move(x, y);
  await page.mouse.wheel(0, -300);
  await page.waitForFunction(() => { const i = document.querySelector('.pic img'); return i.getBoundingClientRect().width > 1.5 * i.naturalWidth; });
  const after = await under();
  assert.ok(Math.abs(after[0] - before[0]) < 0.01 && Math.abs(after[1] - before[1]) < 0.01, `${before} moved to ${after}`);
  const scrolled = () => page.locator('.pic').evaluate((el) => el.scrollLeft);
  const at = await scrolled();
  await page.mouse.down();
  await page.mouse.move(x + 60, y);
  await page.mouse.up();
  assert.equal(await scrolled(), at - 60);
  await page.keyboard.press('0');
  assert.equal(await size(), fit);
  clean(page);
});

test('a text opens at a line', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(inPanel('notes.md', '&at=line-150'));
  const line = page.locator('#at-line-150');
  await line.waitFor();
  await page.waitForFunction(() => {
    const { top, bottom } = document.querySelector('#at-line-150').getBoundingClientRect(), box = document.querySelector('#panel .scroll').getBoundingClientRect();
    return top >= box.top && bottom <= box.bottom;
  });
  await page.getByRole('link', { name: 'Preview', exact: true }).click();
  await page.locator('#panel .doc').waitFor();
  clean(page);
});

test('sound has a player that can be moved', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(inPanel('sound.wav'));
  await page.waitForFunction(() => document.querySelector('#panel audio').duration === 1);
  clean(page);
});

// Of tables with thousands of cells one look is enough: it takes minutes on a busy machine.
const large = ['sales.xlsx', 'site.zip'];

for (const form of forms) {
  test(`every kind, ${form.name}: no accessibility violation, no sideways scroll`, { skip }, async () => {
    const { alone: own, ...options } = form;
    const page = await open(browser, fawn.base, options);
    for (const name of Object.keys(files).filter((n) => form.name === 'light' || !large.includes(n))) {
      await page.goto((own ? alone : inPanel)(name));
      await page.evaluate(() => document.fonts.ready);
      await shot(page, `${name}-${form.name}`);
      assert.deepEqual(await violations(page), [], name);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
    }
    clean(page);
    await page.context().close();
  });
}
