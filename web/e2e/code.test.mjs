// Blocks of code in answers: their lines wrap when asked, and long ones fold when the run
// has ended, without moving what somebody reads.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, answerHTML, clean, finished, launch, open } from './browser.mjs';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const program = Array.from({ length: 60 }, (_, i) => `line_${i} = ${'x'.repeat(i === 3 ? 300 : 9)}`).join('\n');
const text = `First.\n\n\`\`\`python\n${program}\n\`\`\`\n\nThen a short one.\n\n\`\`\`sh\nls\n\`\`\`\n`;
let fawn, browser;

before(async () => { if (!skip) [fawn, browser] = await Promise.all([start(), launch()]); });
after(async () => { await browser?.close(); await fawn?.stop(); });

const height = (page) => page.locator('.cb pre').first().evaluate((el) => el.clientHeight);

for (const javaScriptEnabled of [true, false]) {
  test(`long code is folded and lines wrap, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, { skip }, async () => {
    const page = await open(browser, fawn.base);
    await ask(page, fawn.base, scripted({ text }));
    await finished(page);
    const plain = await open(browser, fawn.base, { javaScriptEnabled });
    await plain.goto(page.url());
    if (javaScriptEnabled) assert.equal(await answerHTML(plain), await answerHTML(page), 'as it was live');
    const block = plain.locator('.cb').first();
    assert.ok(await height(plain) <= 420);
    await block.getByText('Show all 60 lines').click();
    assert.ok(await height(plain) > 800);
    await block.getByText('Show fewer lines').click();
    assert.ok(await height(plain) <= 420);
    const wide = () => block.locator('pre').evaluate((el) => el.scrollWidth > el.clientWidth);
    assert.equal(await wide(), true);
    const wrap = block.getByRole('checkbox', { name: 'Wrap' });
    await wrap.focus();
    await plain.keyboard.press('Space');
    assert.equal(await wide(), false);
    assert.equal(await plain.locator('.cb').nth(1).locator('.all').count(), 0, 'a short one has nothing to unfold');
    clean(page, plain);
    await page.context().close();
    await plain.context().close();
  });
}

test('code that somebody reads at the end of the run stays open and in its place', { skip }, async () => {
  const page = await open(browser, fawn.base, { viewport: { width: 1440, height: 600 } });
  await ask(page, fawn.base, scripted({ text: `${text}${'More. '.repeat(400)}`, gate: 'end', tokens: 5 }));
  await page.waitForFunction(() => document.querySelector('.ans')?.innerText.includes('More. More.'));
  await page.hover('#scroll');
  await page.mouse.wheel(0, -3000);
  await page.waitForFunction(() => document.querySelector('#scroll').dataset.follow === 'false');
  // A wheel scrolls for some frames.
  await page.evaluate(async () => {
    const sc = document.querySelector('#scroll');
    for (let same = 0, was = -1; same < 10; was = sc.scrollTop) {
      await new Promise(requestAnimationFrame);
      same = sc.scrollTop === was ? same + 1 : 0;
    }
  });
  const at = () => page.evaluate(() => {
    const pre = document.querySelector('.cb pre'), sc = document.querySelector('#scroll');
    return pre.getBoundingClientRect().top - sc.getBoundingClientRect().top;
  });
  // In the middle of the code, when the page has taken in how long it is.
  await page.evaluate(() => new Promise((done) => setTimeout(done, 400)));
  await page.evaluate(() => {
    const pre = document.querySelector('.cb pre'), sc = document.querySelector('#scroll');
    sc.scrollTop += pre.getBoundingClientRect().top - sc.getBoundingClientRect().top + 600;
  });
  const was = await at();
  await fawn.script.open('end');
  await finished(page);
  await page.waitForSelector('.cb.long');
  assert.ok(Math.abs(await at() - was) <= 1, `${was} became ${await at()}`);
  assert.ok(await height(page) > 800, 'it is still open');
  clean(page);
  await page.context().close();
});
