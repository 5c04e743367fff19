// Previews: each kind of file as the panel and its own page show it, in a real browser.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { clean, launch, open, shot, violations } from './browser.mjs';
import { chromium, lacks, start, until } from './harness.mjs';
import { docx, xlsx } from './pack.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const folder = 'mnt/user-data/uploads/';
const forms = [
  { name: 'light', colorScheme: 'light' },
  { name: 'dark', colorScheme: 'dark', alone: true },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
];
const city = (i) => [`City ${i}`, 1000 + i, i / 100, i % 2 ? 'north' : 'south'];
const files = {
  'sales.xlsx': xlsx({
    Sales: [['City', 'Orders', 'Share', 'Region'], ...Array.from({ length: 600 }, (_, i) => city(i + 1))],
    'Q3 & Q4': [['Quarter', 'Total'], ['Q3', 4100], ['Q4', '<img src=x onerror=alert(1)>']],
    Empty: [],
  }),
  'letter.docx': docx('An offer of the harbour office.', 'It costs 400 francs.'),
  'broken.docx': Buffer.from('PK\x03\x04 nothing'),
};
let fawn, browser;

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
  const page = await browser.newPage();
  await page.setContent(Array.from({ length: 9 }, (_, i) => `<section style="break-after:page"><h1>Part ${i + 1}</h1>
    ${`<p>The lighthouse number ${i + 1} was built by the harbour office in the year ${1900 + i}.</p>`.repeat(12)}</section>`).join(''));
  files['report.pdf'] = await page.pdf({ format: 'A5' });
  await page.close();
  const json = { 'Content-Type': 'application/json' };
  await fetch(fawn.base + '/api/threads', { method: 'POST', headers: json, body: '{"thread_id":"kinds"}' });
  const form = new FormData();
  for (const [name, body] of Object.entries(files)) form.append('files', new Blob([body]), name);
  assert.equal((await fetch(fawn.base + '/api/threads/kinds/uploads', { method: 'POST', body: form })).status, 200);
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

for (const form of forms) {
  test(`every kind, ${form.name}: no accessibility violation, no sideways scroll`, { skip }, async () => {
    const { alone: own, ...options } = form;
    const page = await open(browser, fawn.base, options);
    for (const name of Object.keys(files)) {
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
