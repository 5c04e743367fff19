// Accounts, on a server that asks for them: set up by a link, chat, sign out, an
// authenticator app, a passkey, tokens with the real SDK, a session that is ended.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Client } from '@langchain/langgraph-sdk';
import { answer, ask, atLeast, clean, copies, finished, launch, newChat, open, shot, violations } from './browser.mjs';
import { chromium, gate, lacks, start, until, words } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const password = 'correct horse';
let fawn, base, browser, owner, token;

// Passkeys need a name, which an address is not.
const named = (url) => url.replace('127.0.0.1', 'localhost');

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start({ config: 'auth: {required: always}\n' }), launch()]);
  base = named(fawn.base);
});
after(async () => { await browser?.close(); await fawn?.stop(); });

const setupLink = () => named(fawn.log().match(/http:\/\/\S+\/setup\?token=\S+/)[0]);

const signIn = async (page, email, secret = password) => {
  await page.goto(base + '/login');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(secret);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
};

// gone waits until the owner's page has some words no more. On its way to the next one it has no content.
const gone = (words) => until(`${words} is gone`, async () => !(await owner.content().catch(() => words)).includes(words));

const section = async (page, name) => page.goto(`${base}/workspace/settings/${name}`);

const decode32 = (s) => {
  const bits = [...s].map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0')).join('');
  return Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
};

// code is what an app shows, so many periods from now.
const code = (secret, off = 0) => {
  const step = Buffer.alloc(8);
  step.writeBigInt64BE(BigInt(Math.floor(Date.now() / 30_000) + off));
  const sum = createHmac('sha1', decode32(secret)).update(step).digest();
  return String((sum.readUInt32BE(sum.at(-1) & 15) & 0x7fffffff) % 1e6).padStart(6, '0');
};

test('a server without an owner is set up by its link, and then serves its owner', { skip }, async () => {
  owner = await open(browser, base, { colorScheme: 'light' });
  await owner.goto(base + '/');
  await owner.getByText('Open the one-time link').waitFor();
  await owner.goto(setupLink());
  assert.deepEqual(await violations(owner), []);
  await shot(owner, 'account-setup');
  await owner.getByLabel('Email').fill('ann@example.org');
  await owner.getByLabel('Name').fill('Ann');
  await owner.getByLabel('New password').fill(password);
  await owner.getByRole('button', { name: 'Create account' }).click();
  await owner.waitForURL(base + newChat);
  await ask(owner, base, words(12));
  await finished(owner);
  assert.match(await answer(owner), /\w/);
  await owner.locator('.who summary').click();
  await shot(owner, 'account-menu');
  await owner.getByRole('button', { name: 'Sign out' }).click();
  await owner.waitForURL(base + '/login');
  const link = await fetch(setupLink());
  assert.equal(link.status, 410);
  clean(owner);
});

test('signing in leads to where one wanted, with a passkey too', { skip }, async () => {
  await owner.goto(base + '/workspace/skills');
  await owner.waitForURL(/\/login\?next=/);
  await shot(owner, 'account-login');
  await owner.getByLabel('Email').fill('ann@example.org');
  await owner.getByLabel('Password').fill(password);
  await owner.getByRole('button', { name: 'Sign in', exact: true }).click();
  await owner.waitForURL(base + '/workspace/skills');

  const cdp = await owner.context().newCDPSession(owner);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options: { protocol: 'ctap2', transport: 'internal',
    hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } });
  await section(owner, 'account');
  await owner.getByLabel(/^Name, such as/).fill('Laptop');
  await owner.getByRole('button', { name: 'Add a passkey' }).click();
  await owner.getByText('Laptop', { exact: true }).waitFor();
  assert.equal((await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length, 1);
  await shot(owner, 'account-passkey');
  await owner.locator('.who summary').click();
  await owner.getByRole('button', { name: 'Sign out' }).click();
  await owner.waitForURL(base + '/login');
  await owner.goto(base + '/login?next=%2Fworkspace%2Fchats');
  await owner.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await owner.waitForURL(base + '/workspace/chats');
  await section(owner, 'account');
  assert.match(await owner.locator('main').innerText(), /Laptop\s+added .* last used/);

  // One that was taken away counts no more.
  await owner.getByRole('button', { name: 'Remove: Laptop' }).click();
  await owner.waitForURL(/saved=passkey/);
  const other = await owner.context().newPage();
  await owner.locator('.who summary').click();
  await owner.getByRole('button', { name: 'Sign out' }).click();
  await owner.waitForURL(base + '/login');
  await owner.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await owner.getByText('The passkey didn’t work.').waitFor();
  await other.close();
  clean(owner);
});

test('an authenticator app, with its recovery codes', { skip }, async () => {
  await signIn(owner, 'ann@example.org');
  await owner.waitForURL(base + newChat);
  await section(owner, 'account');
  await owner.getByRole('button', { name: 'Set up an authenticator app' }).click();
  await owner.locator('svg.qr').waitFor();
  assert.deepEqual(await violations(owner), []);
  await shot(owner, 'account-totp');
  const secret = await owner.locator('code.secret').innerText();
  await owner.getByLabel('Code', { exact: true }).fill(code(secret)); // good for a period more, in which a busy machine gets it there
  await owner.getByRole('button', { name: 'Turn on' }).click();
  await owner.getByText('Save your recovery codes now').waitFor();
  await shot(owner, 'account-recovery');
  const recovery = await owner.locator('.codes code').allInnerTexts();
  assert.equal(recovery.length, 10);
  const page = await open(browser, base);
  await signIn(page, 'ann@example.org');
  await page.getByLabel('Code').waitFor();
  await shot(page, 'account-code');
  assert.deepEqual(await violations(page), []);
  await page.getByLabel('Code').fill(code(secret, 1));
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(base + newChat);
  await page.context().close();
  await section(owner, 'account');
  await owner.locator('summary', { hasText: 'Change' }).click();
  await owner.locator('#totp-now').fill(password);
  await owner.getByRole('button', { name: 'Turn off' }).click();
  await owner.getByRole('button', { name: 'Set up an authenticator app' }).waitFor();
  clean(owner);
});

test('a token lets programs in, with the SDK too, until it is revoked', { skip }, async () => {
  await section(owner, 'tokens');
  await owner.getByLabel('Name').fill('Scripts');
  await owner.getByRole('button', { name: 'Create token' }).click();
  await owner.getByText('Copy it now').waitFor();
  await shot(owner, 'account-token');
  token = await owner.locator('#token-secret').innerText();
  const get = (path, headers = {}) => fetch(base + path, { headers });
  assert.equal((await get('/api/v1/auth/me')).status, 401);
  const me = await get('/api/v1/auth/me', { Authorization: 'Bearer ' + token }).then((r) => r.json());
  assert.equal(me.email, 'ann@example.org');
  const sdk = new Client({ apiUrl: base, apiKey: token });
  const thread = await sdk.threads.create();
  let said = '';
  for await (const part of sdk.runs.stream(thread.thread_id, 'lead_agent', { input: { messages: [{ role: 'user', content: words(5) }] }, streamMode: 'values' })) {
    said = part.data?.messages?.at(-1)?.content ?? said;
  }
  assert.equal(said.trim().split(/\s+/).length, 5);
  await section(owner, 'tokens');
  await owner.getByRole('button', { name: 'Revoke: Scripts' }).click();
  await gone('Revoke: Scripts');
  assert.equal((await get('/api/v1/auth/me', { Authorization: 'Bearer ' + token })).status, 401);
  await assert.rejects(new Client({ apiUrl: base, apiKey: 'fawn_guess', callerOptions: { maxRetries: 0 } }).threads.search());
  clean(owner);
});

test('the same in the dialog over a chat', { skip }, async () => {
  const cdp = await owner.context().newCDPSession(owner);
  await owner.goto(base + newChat);
  await owner.locator('.who summary').click();
  await owner.locator('.who').getByRole('link', { name: 'Account' }).click();
  const dialog = owner.getByRole('dialog', { name: 'Settings' });
  await dialog.getByLabel('Name', { exact: true }).fill('Ann of the dialog');
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await dialog.getByText('Saved ✓').waitFor();
  await dialog.getByLabel(/^Name, such as/).fill('Dialog');
  await dialog.getByRole('button', { name: 'Add a passkey' }).click();
  await owner.getByText('Dialog', { exact: true }).waitFor();
  await owner.getByRole('button', { name: 'Remove: Dialog' }).click();
  await gone('Remove: Dialog');
  await owner.goto(base + newChat);
  assert.match(await owner.locator('.who summary').innerText(), /Ann of the dialog/);
  await owner.getByRole('link', { name: 'Settings' }).click();
  await dialog.getByRole('link', { name: 'API tokens' }).click();
  await dialog.getByLabel('Name').fill('Dialog');
  await dialog.getByRole('button', { name: 'Create token' }).click();
  await dialog.getByText('Copy it now').waitFor();
  await owner.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: base });
  await copies(dialog.getByRole('button', { name: 'Copy' }));
  assert.match(await owner.evaluate(() => navigator.clipboard.readText()), /^fawn_/);
  await dialog.getByRole('button', { name: 'Revoke: Dialog' }).click();
  await gone('Revoke: Dialog');
  clean(owner);
  await cdp.detach();
});

test('a session that is ended stops what it does, and its page leads to the way in', { skip }, async () => {
  const stolen = await open(browser, base);
  await signIn(stolen, 'ann@example.org');
  await stolen.waitForURL(base + newChat);
  await ask(stolen, base, words(20_000, 50));
  await atLeast(stolen, 10);
  await section(owner, 'sessions');
  assert.deepEqual(await violations(owner), []);
  await shot(owner, 'account-sessions');
  await owner.getByRole('button', { name: 'Sign out everywhere else' }).click();
  await stolen.waitForURL(/\/login/);
  assert.equal((await stolen.goto(base + '/workspace/chats')).url().startsWith(base + '/login'), true);
  await owner.goto(base + '/workspace/chats');
  assert.equal(new URL(owner.url()).pathname, '/workspace/chats');
  await stolen.context().close();
});

test('an announcement stands above every page until it is dismissed', { skip }, async () => {
  await section(owner, 'announcements');
  await owner.getByLabel('Text').fill('Maintenance tonight at ten');
  await owner.getByLabel('Level').selectOption('warning');
  await owner.getByRole('button', { name: 'Publish' }).click();
  const banner = owner.getByRole('region', { name: 'Announcements' });
  await banner.getByText('Maintenance tonight').waitFor();
  await owner.goto(base + newChat);
  await banner.getByText('Maintenance tonight').waitFor();
  assert.ok(await owner.evaluate(() => document.documentElement.scrollHeight <= innerHeight), 'the page fits below it');
  assert.deepEqual(await violations(owner), []);
  for (const [look, colorScheme, width] of [['light', 'light', 1280], ['dark', 'dark', 1280], ['phone', 'light', 390]]) {
    await owner.emulateMedia({ colorScheme });
    await owner.setViewportSize({ width, height: 800 });
    await shot(owner, `account-banner-${look}`);
  }
  await owner.emulateMedia({ colorScheme: 'light' });
  await owner.setViewportSize({ width: 1280, height: 720 });
  await banner.getByRole('button', { name: 'Dismiss announcement' }).click();
  await banner.waitFor({ state: 'detached' });
  assert.equal(new URL(owner.url()).pathname, newChat);
  await owner.goto(base + '/workspace/chats');
  assert.equal(await banner.count(), 0);
  clean(owner);
});

test('a group limits what its members may use, and the page says why', { skip }, async () => {
  await section(owner, 'groups');
  await owner.getByText('New group').click();
  const form = owner.locator('.newtask form');
  await form.getByLabel('Name', { exact: true }).fill('Interns');
  await form.getByLabel('All users').check();
  const models = form.getByRole('group', { name: 'Models' }).first();
  assert.ok(!(await models.getByLabel('script').isVisible()), 'nothing to choose while all are allowed');
  await models.getByLabel('All').uncheck();
  await models.getByLabel('script').check();
  await form.getByLabel('Runs per day').fill('1');
  assert.deepEqual(await violations(owner), []);
  await shot(owner, 'account-group-form');
  await form.getByRole('button', { name: 'Create group' }).click();
  await owner.locator('.mrow summary', { hasText: 'Interns' }).waitFor();
  assert.ok(await owner.locator('.mrow [name=models]').isChecked());

  await section(owner, 'users');
  await owner.getByLabel('Email').fill('zoe@example.org');
  await owner.getByRole('button', { name: 'Create an invitation' }).click();
  const link = await owner.locator('#user-link').innerText();
  const zoe = await open(browser, base, { colorScheme: 'light' });
  await zoe.goto(link);
  await zoe.getByLabel('New password').fill(password);
  await zoe.getByRole('button', { name: 'Create account' }).click();
  await zoe.waitForURL(base + newChat);
  await ask(zoe, base, words(5));
  await finished(zoe);
  await zoe.goto(base + newChat);
  await zoe.fill('#q', words(5));
  await zoe.keyboard.press('Enter');
  await zoe.locator('#problem', { hasText: 'daily limit of runs (1)' }).waitFor();
  assert.match(await zoe.inputValue('#q'), /echo 5/, 'the text stays');
  assert.deepEqual(await violations(zoe), []);
  await shot(zoe, 'account-limit');
  assert.equal(await zoe.getByRole('link', { name: 'Groups' }).count(), 0);
  await zoe.context().close();

  await owner.goto(base + '/workspace/usage');
  await owner.getByRole('link', { name: 'zoe@example.org' }).click();
  await owner.getByText('Usage of zoe@example.org').waitFor();
  assert.deepEqual(await violations(owner), []);
  await shot(owner, 'account-usage');
  await section(owner, 'groups');
  await owner.locator('.mrow summary', { hasText: 'Interns' }).click();
  await owner.getByRole('button', { name: 'Delete group: Interns' }).click();
  await owner.getByRole('button', { name: 'Delete group', exact: true }).click();
  await owner.getByText('No groups yet').waitFor();
  clean(owner);
});

test('how the pages look', { skip }, async (t) => {
  const state = await owner.context().storageState();
  const forms = [{ name: 'narrow', locale: 'zh-CN', colorScheme: 'dark', viewport: { width: 320, height: 640 } },
    { name: 'light', colorScheme: 'light' }, { name: 'dark', colorScheme: 'dark' },
    { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }];
  for (const form of gate ? forms.slice(0, 1) : forms) {
    await t.test(form.name, async () => {
      const { name, ...options } = form;
      const inside = await open(browser, base, { ...options, storageState: state }), outside = await open(browser, base, options);
      for (const [page, path] of [[outside, '/login'], [outside, '/setup'], [outside, '/reset?token=x'], [inside, '/workspace/settings/account'],
        [inside, '/workspace/settings/sessions'], [inside, '/workspace/settings/tokens'], [inside, '/workspace/settings/users'],
        [inside, '/workspace/settings/groups'], [inside, '/workspace/settings/announcements']]) {
        await page.goto(base + path);
        await page.evaluate(() => document.fonts.ready);
        await shot(page, `account-${path.split('/').pop().split('?')[0]}-${name}`);
        assert.deepEqual(await violations(page), [], path);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${path} is ${wide} px too wide`);
        clean(page);
      }
      await inside.context().close();
      await outside.context().close();
    });
  }
});
