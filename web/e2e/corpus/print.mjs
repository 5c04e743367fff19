// Prints the pages of a corpus to the PDF files that its manifest names.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from '../browser.mjs';

export const entries = (dir) => JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8'));

export const print = async (dir) => {
  const browser = await launch();
  const page = await browser.newPage();
  page.setDefaultTimeout(90_000);
  for (const e of entries(dir).filter((e) => e.print)) {
    await page.goto(pathToFileURL(join(dir, e.print)).href);
    await page.pdf({ path: join(dir, e.file), format: 'A4', margin: { top: '2cm', bottom: '2cm', left: '2cm', right: '2cm' } });
  }
  await browser.close();
};
