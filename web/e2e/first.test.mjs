// The first minutes: a server on this machine is found and used with one click, and a
// model of a provider is added as a person does it: first with a wrong key, then the right
// one, chosen for a chat and removed.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { answer, clean, finished, launch, newChat, open, send } from './browser.mjs';
import { chromium, lacks, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
const models = '/workspace/settings/models';
const goodKey = 'sk-right-0123456789abcdef', badKey = 'sk-wrong-0123456789abcdef';
let fawn, browser, ollama, provider;

const serve = async (handle) => {
  const server = createServer((req, res) => {
    let body = '';
    req.on('data', (d) => { body += d; });
    req.on('end', () => handle(req, res, body));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { host: `127.0.0.1:${server.address().port}`, stop: () => { server.closeAllConnections(); return new Promise((done) => server.close(done)); } };
};
const json = (res, status, value) => { res.writeHead(status, { 'Content-Type': 'application/json' }); res.end(JSON.stringify(value)); };
const says = (res, text) => {
  res.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const delta of [{ role: 'assistant', content: text }, {}]) {
    res.write('data: ' + JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason: delta.content ? null : 'stop' }] }) + '\n\n');
  }
  res.end('data: [DONE]\n\n');
};

before(async () => {
  if (skip) return;
  ollama = await serve((req, res) => {
    if (req.url === '/v1/models') json(res, 200, { object: 'list', data: [{ id: 'qwen3:8b', object: 'model' }] });
    else if (req.url === '/v1/chat/completions') says(res, 'I run on this machine.');
    else json(res, 404, { error: 'not found' });
  });
  provider = await serve((req, res) => {
    if (req.url !== '/v1/chat/completions') json(res, 404, { error: { message: 'no such route' } });
    else if (req.headers.authorization !== 'Bearer ' + goodKey) json(res, 401, { error: { message: 'Incorrect API key provided: ' + req.headers.authorization?.slice(7), code: 'invalid_api_key' } });
    else says(res, 'I run at the provider.');
  });
  [fawn, browser] = await Promise.all([start({ model: false, config: 'title: {enabled: false}\n', env: { OLLAMA_HOST: ollama.host } }), launch()]);
});
after(async () => { await browser?.close(); await fawn?.stop(); await ollama?.stop(); await provider?.stop(); });

const removed = async (page, name) => {
  await page.goto(fawn.base + models);
  await page.locator('summary', { hasText: name }).click();
  await page.getByRole('button', { name: new RegExp(`(Remove|移除): ${name}`) }).click();
  await until('the model is gone', async () => (await page.locator('summary', { hasText: name }).count()) === 0);
};

test('a server on this machine takes one click', { skip }, async () => {
  const page = await open(browser, fawn.base);
  const offer = page.getByRole('button', { name: 'Use qwen3:8b' });
  await until('the server is offered', async () => { await page.goto(fawn.base + newChat); return offer.isVisible(); }, 200_000); // a slow machine may need several looks, which are half a minute apart
  await page.getByRole('heading', { name: 'You’re using the offline model' }).waitFor();
  await page.getByText(`http://${ollama.host}/v1`).waitFor();
  await offer.click();
  await page.waitForURL(/settings\/models\?added=/);
  await page.getByText('qwen3:8b is ready to use.').waitFor();
  await page.goto(fawn.base + newChat);
  assert.equal(await page.getByText('You’re using the offline model').count(), 0);
  await send(page, 'Who are you?');
  await finished(page);
  assert.match(await answer(page), /I run on this machine/);
  await removed(page, 'qwen3:8b');
  clean(page);
  await page.context().close();
});

test('a wrong key gets a plain cause and the provider\'s own words without the key, the right one works, and a chat uses the model', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await page.goto(`${fawn.base}${models}?add=compatible`);
  await page.getByRole('heading', { name: 'Add a model with an OpenAI-compatible API' }).waitFor();
  await page.getByLabel('Model ID').fill('far');
  await page.getByLabel('Address').fill(`http://${provider.host}/v1`);
  await page.getByLabel('API key').fill(badKey);
  await page.getByRole('button', { name: 'Test' }).click();
  await page.locator('#probe summary').click(); // the provider's own words are a detail behind the plain cause
  const words = page.locator('#probe .out');
  await words.waitFor();
  assert.match(await words.innerText(), /401 Incorrect API key provided: \*\*\*/);
  assert.equal((await page.locator('main').innerText()).includes('sk-wrong'), false);
  await page.getByLabel('API key').fill(goodKey);
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByText(/far answered in/).waitFor();
  await page.getByRole('button', { name: 'Add a model' }).click();
  await page.getByText('far is ready to use.').waitFor();
  assert.equal((await page.content()).includes(goodKey), false);
  await page.goto(fawn.base + newChat);
  await send(page, 'Where are you?');
  await finished(page);
  assert.match(await answer(page), /I run at the provider/);
  await removed(page, 'far');
  assert.equal(readFileSync(join(fawn.data, 'secrets.env'), 'utf8').includes(goodKey), false);
  assert.equal(fawn.log().includes(goodKey) || fawn.log().includes(badKey), false);
  clean(page);
  await page.context().close();
});
