// Documents while they are read: the chips say how far that is, and a server that is killed
// in the middle goes on when it is back.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, newChat, open, send } from './browser.mjs';
import { start, until } from './harness.mjs';

// pdf is a document with so many pages of text.
const pdf = (pages) => {
  const objects = ['<</Type/Catalog/Pages 2 0 R>>', '', '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>'], kids = [];
  for (let i = 1; i <= pages; i++) {
    const lines = Array.from({ length: 30 }, (_, n) => `BT /F1 10 Tf 60 ${760 - 20 * n} Td (Page ${i} has a line with the number ${n} and some more words.) Tj ET`).join('\n');
    kids.push(`${objects.length + 1} 0 R`);
    objects.push(`<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>/Contents ${objects.length + 2} 0 R>>`,
      `<</Length ${lines.length}>>stream\n${lines}\nendstream`);
  }
  objects[1] = `<</Type/Pages/Kids[${kids.join(' ')}]/Count ${pages}>>`;
  let out = '%PDF-1.4\n', table = '';
  objects.forEach((o, i) => {
    table += `${String(out.length).padStart(10, '0')} 00000 n \n`;
    out += `${i + 1} 0 obj\n${o}\nendobj\n`;
  });
  return Buffer.from(`${out}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${out.length}\n%%EOF\n`);
};

let fawn, browser;
before(async () => { [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const list = (thread) => fetch(`${fawn.base}/api/threads/${thread}/uploads/list`).then((r) => r.json());

test('a chip says how far its document is read, and what came of it, without a reload', { timeout: 240_000 }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(fawn.base + newChat);
  const said = page.locator('#chips li[data-name="long.pdf"] [data-doc]');
  await page.setInputFiles('#pick', [{ name: 'long.pdf', mimeType: 'application/pdf', buffer: pdf(600) },
    { name: 'broken.docx', mimeType: 'application/octet-stream', buffer: Buffer.from('PK\x03\x04 nothing') }]);
  await page.getByText(/^Being read… page \d+ of 600$/).waitFor();
  await said.waitFor({ state: 'detached' });
  assert.equal(await page.locator('#chips li[data-name="long.pdf"]').innerText().then((t) => /Being read/.test(t)), false);
  await page.locator('#chips li[data-name="broken.docx"]').getByText('Damaged').waitFor();
  // The message keeps what there is to say.
  await send(page, 'echo 3 tokens at 0 tok/s');
  await page.locator('article.turn .chip', { hasText: 'broken.docx' }).getByText('Damaged').waitFor();
  await page.reload();
  await page.locator('article.turn .chip', { hasText: 'broken.docx' }).getByText('Damaged').waitFor();
  assert.deepEqual(page.wrong, []);
});

test('a conversion that a kill ended is done after the restart, once', { timeout: 240_000 }, async () => {
  const form = new FormData();
  form.append('files', new Blob([pdf(600)]), 'killed.pdf');
  const sent = await fetch(`${fawn.base}/api/threads/killed/uploads`, { method: 'POST', body: form });
  assert.equal(sent.status, 200);
  const state = async () => (await list('killed')).files[0].conversion;
  await until('some pages are read', async () => (await state()).done > 0);
  await fawn.kill();
  await fawn.restart();
  assert.equal((await state()).state, 'pending');
  const done = await until('it is converted', async () => { const c = await state(); return c.state !== 'pending' && c; }, 120_000);
  assert.equal(done.state, 'converted');
  const [file] = (await list('killed')).files;
  const text = await fetch(fawn.base + file.markdown_artifact_url).then((r) => r.text());
  assert.match(text, /Page 600 has a line with the number 29 /);
  const folder = join(fawn.data, 'threads', 'killed', 'user-data', 'uploads');
  assert.deepEqual(readdirSync(folder).sort(), ['killed.pdf', 'killed.pdf.md']);
  assert.deepEqual(readdirSync(join(fawn.data, 'documents', 'threads')), []);
});
