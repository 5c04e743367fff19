// A login at an MCP server: a real server from npm behind an authorization server, gone through in the browser.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ask, clean, launch, open, shot, violations } from './browser.mjs';
import { chromium, here, lacks, scripted, start, until } from './harness.mjs';
import { freePort } from './ports.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const secret = 'sk-canary-login-77120';
let fawn, browser, inner, gate, base, target;

// The authorization server agrees to everybody who presses its button, and checks the code's challenge.
const gateway = () => {
  const codes = new Map();
  return createServer(async (req, res) => {
    const u = new URL(req.url, base);
    const json = (v) => { res.setHeader('Content-Type', 'application/json'); res.end(JSON.stringify(v)); };
    if (u.pathname === '/.well-known/oauth-authorization-server') return json({ issuer: base, jwks_uri: base,
      authorization_endpoint: base + '/authorize', token_endpoint: base + '/token', registration_endpoint: base + '/register',
      response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] });
    if (u.pathname === '/register') return json({ client_id: 'fawn' });
    if (u.pathname === '/authorize') {
      codes.set('c1', u.searchParams.get('code_challenge'));
      const back = new URL(u.searchParams.get('redirect_uri'));
      back.searchParams.set('code', 'c1');
      back.searchParams.set('state', u.searchParams.get('state'));
      res.setHeader('Content-Type', 'text/html');
      return res.end(`<a id="yes" href="${back.href.replaceAll('&', '&amp;')}">Allow</a>`);
    }
    if (u.pathname === '/token') {
      let body = '';
      for await (const b of req) body += b;
      const form = new URLSearchParams(body);
      const sum = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
      if (sum !== codes.get(form.get('code'))) { res.statusCode = 400; return json({ error: 'invalid_grant' }); }
      return json({ access_token: secret, token_type: 'Bearer', expires_in: 3600, refresh_token: secret + '-r' });
    }
    if (req.headers.authorization !== 'Bearer ' + secret) { res.statusCode = 401; return res.end('no token'); }
    const on = request(target + u.pathname, { method: req.method, headers: req.headers }, (r) => {
      res.writeHead(r.statusCode, r.headers);
      res.flushHeaders();
      r.pipe(res);
    });
    on.on('error', () => res.destroy());
    req.pipe(on);
  });
};

const listening = (s) => new Promise((done) => s.listen(0, '127.0.0.1', () => done(s.address().port)));

before(async () => {
  if (skip) return;
  [fawn, browser] = await Promise.all([start(), launch()]);
  const port = await freePort();
  target = 'http://127.0.0.1:' + port;
  inner = spawn(join(here, 'node_modules', '.bin', 'mcp-server-everything'), ['streamableHttp'],
    { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' });
  await until('the server listens', () => fetch(target + '/mcp').then(() => true, () => false));
  gate = gateway();
  base = 'http://127.0.0.1:' + await listening(gate);
});
after(async () => { await browser?.close(); await fawn?.stop(); inner?.kill('SIGKILL'); gate?.closeAllConnections(); gate?.close(); });

test('logging in brings the tools to a chat that is open', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ text: 'hello' }));
  const chat = page.url();
  await page.goto(fawn.base + '/workspace/settings/mcp');
  await page.locator('summary', { hasText: 'Add servers' }).click();
  await shot(page, 'mcp-known');
  await page.locator('#mcp-json').fill(JSON.stringify({ mcpServers: { gate: { url: base + '/mcp' } } }));
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.locator('.mrow', { hasText: 'gate' }).waitFor();
  await until('the login is asked for', async () => {
    await page.reload();
    return page.getByRole('button', { name: 'Log in: gate' }).isVisible();
  });
  assert.deepEqual(await violations(page), []);
  await page.getByRole('button', { name: 'Log in: gate' }).click();
  const go = page.getByRole('link', { name: /Continue at 127\.0\.0\.1/ });
  await go.waitFor();
  assert.deepEqual(await violations(page), []);
  await shot(page, 'mcp-login');
  await go.click();
  await page.locator('#yes').click();
  await page.getByRole('button', { name: 'Log out: gate' }).waitFor();
  await until('the server is connected', async () => {
    const { servers } = await (await fetch(fawn.base + '/api/mcp/status')).json();
    return servers[0].state === 'ready' && servers[0].login === 'in';
  });
  await page.reload();
  await page.locator('.mrow', { hasText: 'gate' }).getByText('Tools (').waitFor();
  await shot(page, 'mcp-logged-in');

  await page.goto(chat);
  await page.locator('textarea').first().fill(scripted({ tool_calls: [{ name: 'gate_echo', args: { message: 'let in' } }] }, { text: 'done' }));
  await page.keyboard.press('Enter');
  const id = chat.split('/').pop();
  await until('the tool has answered', async () => {
    const state = await (await fetch(`${fawn.base}/threads/${id}/state`)).text();
    assert.ok(!state.includes(secret));
    return state.includes('Echo: let in');
  });

  await page.goto(fawn.base + '/workspace/settings/mcp');
  await page.getByRole('button', { name: 'Log out: gate' }).click();
  await until('the login is asked for again', async () => {
    await page.reload();
    return page.getByRole('button', { name: 'Log in: gate' }).isVisible();
  });
  assert.ok(!fawn.log().includes(secret));
  assert.ok(!(await (await fetch(fawn.base + '/api/mcp/status')).text()).includes(secret));
  page.wrong.splice(0, Infinity, ...page.wrong.filter((w) => !w.startsWith('request to another origin: ' + base + '/authorize?')));
  clean(page);
});
