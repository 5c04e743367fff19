// The pages over HTTPS without a proxy: signing in, an answer that streams, cookies that never leave TLS.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { answer, atLeast, clean, finished, launch, newChat, open, send } from './browser.mjs';
import { chromium, held, lacks, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium)) || lacks('openssl', existsSync('/usr/bin/openssl'));
const dir = mkdtempSync(join(tmpdir(), 'fawn-tls-'));
let fawn, browser, base;

before(async () => {
  if (skip) return;
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
    '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  [fawn, browser] = await Promise.all([
    start({ config: `auth: {required: always}\nserver: {hosts: [localhost], tls: {cert: ${cert}, key: ${key}}}\n` }), launch()]);
  base = fawn.base.replace('http://127.0.0.1', 'https://localhost');
});
after(async () => {
  await browser?.close();
  await fawn?.stop();
  rmSync(dir, { recursive: true, force: true });
});

test('one signs in, asks and reads the answer as it comes, all over TLS', { skip }, async () => {
  const link = await until('the link is in the log', () => fawn.log().match(/https:\/\/\S+\/setup\?token=\S+/));
  assert.ok(link[0].startsWith(base), fawn.log());
  const page = await open(browser, base, { ignoreHTTPSErrors: true });
  await page.goto(link[0]);
  await page.getByLabel('Email').fill('ann@example.org');
  await page.getByLabel('Name').fill('Ann');
  await page.getByLabel('New password').fill('correct horse');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.waitForURL(base + newChat);

  await send(page, held('tls', 5, 195));
  await atLeast(page, 5);
  const part = (await answer(page)).length;
  await fawn.script.open('tls');
  await finished(page);
  assert.ok((await answer(page)).length > part, 'the answer came at once');

  const cookies = await page.context().cookies();
  assert.ok(cookies.some((c) => c.httpOnly), JSON.stringify(cookies));
  assert.deepEqual(cookies.filter((c) => !c.secure).map((c) => c.name), []);
  const protocol = await page.evaluate(() => performance.getEntriesByType('navigation')[0].nextHopProtocol);
  assert.equal(protocol, 'h2');

  await page.locator('.who summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(base + '/login');
  await page.getByLabel('Email').fill('ann@example.org');
  await page.getByLabel('Password').fill('correct horse');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(new RegExp(`^${base}/workspace`));
  clean(page);
});
