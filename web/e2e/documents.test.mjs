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

// sizes are how many pages documents have in turn: one may be read before a busy machine has got to look, then a longer one is not.
const sizes = [300, 1200, 2400];

test('a chip says how far its document is read, and what came of it, without a reload', { timeout: 600_000 }, async () => {
  const page = await open(browser, fawn.base);
  await page.addInitScript(() => {
    window.said = [];
    new MutationObserver(() => {
      for (const el of document.querySelectorAll('#chips .meta')) if (el.textContent !== window.said.at(-1)) window.said.push(el.textContent);
    }).observe(document, { childList: true, characterData: true, subtree: true });
  });
  await page.goto(fawn.base + newChat);
  await page.setInputFiles('#pick', [{ name: 'broken.docx', mimeType: 'application/octet-stream', buffer: Buffer.from('PK\x03\x04 nothing') }]);
  for (const pages of sizes) {
    const name = `long-${pages}.pdf`, chip = page.locator(`#chips li[data-name="${name}"]`);
    await page.setInputFiles('#pick', [{ name, mimeType: 'application/pdf', buffer: pdf(pages) }]);
    await page.locator(`#chips li[data-name="${name}"]:not(:has(progress))`).waitFor();
    await chip.locator('[data-doc]').waitFor({ state: 'detached', timeout: 200_000 });
    assert.doesNotMatch(await chip.innerText(), /Reading…/);
    if (await page.evaluate((n) => window.said.some((t) => new RegExp(`^Reading… page \\d+ of ${n}$`).test(t)), pages)) break;
    assert.notEqual(pages, sizes.at(-1), 'no chip said which page is read');
  }
  await page.locator('#chips li[data-name="broken.docx"]').getByText('Damaged').waitFor();
  // The message keeps what there is to say.
  await send(page, 'echo 3 tokens at 0 tok/s');
  await page.locator('article.turn .chip', { hasText: 'broken.docx' }).getByText('Damaged').waitFor();
  await page.reload();
  await page.locator('article.turn .chip', { hasText: 'broken.docx' }).getByText('Damaged').waitFor();
  assert.deepEqual(page.wrong, []);
});

test('a conversion that a kill ended is done after the restart, once', { timeout: 600_000 }, async () => {
  let thread, pages;
  const state = async () => (await list(thread)).files[0].conversion;
  for (pages of sizes) {
    thread = `killed-${pages}`;
    const form = new FormData();
    form.append('files', new Blob([pdf(pages)]), 'killed.pdf');
    const sent = await fetch(`${fawn.base}/api/threads/${thread}/uploads`, { method: 'POST', body: form });
    assert.equal(sent.status, 200);
    await until('some pages are read', async () => { const c = await state(); return c.done > 0 || c.state !== 'pending'; });
    await fawn.kill();
    await fawn.restart();
    if ((await state()).state === 'pending') break;
    assert.notEqual(pages, sizes.at(-1), 'no kill came while a document was read');
  }
  const done = await until('it is converted', async () => { const c = await state(); return c.state !== 'pending' && c; }, 240_000);
  assert.equal(done.state, 'converted');
  const [file] = (await list(thread)).files;
  const text = await fetch(fawn.base + file.markdown_artifact_url).then((r) => r.text());
  assert.ok(text.includes(`Page ${pages} has a line with the number 29 `));
  const folder = join(fawn.data, 'threads', thread, 'user-data', 'uploads');
  assert.deepEqual(readdirSync(folder).sort(), ['killed.pdf', 'killed.pdf.md']);
  assert.deepEqual(readdirSync(join(fawn.data, 'documents', 'threads')), []);
});
