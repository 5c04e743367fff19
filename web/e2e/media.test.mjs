// Pictures that a model makes, dictation and reading aloud, with a provider of our own behind them.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ask, clean, finished, launch, newChat, open } from './browser.mjs';
import { chromium, lacks, scripted, start, until } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, browser, provider;
const spoken = [];
let recorded = 0;

// drawn is a picture of two colours, as PNG.
const drawn = async () => {
  const page = await open(browser, 'about:blank');
  const data = await page.evaluate(() => {
    const c = Object.assign(document.createElement('canvas'), { width: 600, height: 600 });
    const g = c.getContext('2d');
    const sky = g.createLinearGradient(0, 0, 0, 600);
    sky.addColorStop(0, '#79b8d8');
    sky.addColorStop(1, '#f6e7c8');
    g.fillStyle = sky;
    g.fillRect(0, 0, 600, 600);
    g.fillStyle = '#c0563d';
    g.beginPath();
    g.arc(300, 320, 150, 0, 7);
    g.fill();
    return c.toDataURL('image/png').split(',')[1];
  });
  await page.context().close();
  return data;
};

before(async () => {
  if (skip) return;
  browser = await launch({ whole: true, args: ['--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream', '--autoplay-policy=no-user-gesture-required'] });
  const png = await drawn();
  provider = http.createServer(async (req, res) => {
    let body = Buffer.alloc(0);
    for await (const part of req) body = Buffer.concat([body, part]);
    if (req.url === '/v1/audio/speech') {
      spoken.push(JSON.parse(body).input);
      res.setHeader('Content-Type', 'audio/mpeg');
      return res.end(Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.alloc(413)]));
    }
    res.setHeader('Content-Type', 'application/json');
    if (req.url === '/v1/audio/transcriptions') {
      recorded = body.length;
      return res.end('{"text": "Draw a sunset."}');
    }
    res.end(JSON.stringify({ data: Array.from({ length: JSON.parse(body).n }, () => ({ b64_json: png })) }));
  });
  await new Promise((done) => provider.listen(0, '127.0.0.1', done));
  const at = `base_url: "http://127.0.0.1:${provider.address().port}", api_key: k`;
  fawn = await start({ config: `images: {${at}, model: pic-1}\nspeech: {${at}, model: say-1}\ntranscription: {${at}, model: hear-1}\n` });
});
after(async () => { await browser?.close(); await fawn?.stop(); provider?.close(); });

test('without models the browser listens and speaks, or says what to set up', { skip }, async () => {
  const bare = await start({});
  const page = await open(browser, bare.base);
  await page.addInitScript(() => {
    window.webkitSpeechRecognition = window.SpeechRecognition = class { start() { setTimeout(() => { this.onerror({ error: window.heard ? 'no-speech' : 'network' }); this.onend(); }); } stop() {} };
    Object.defineProperty(window, 'speechSynthesis', { value: Object.assign(new EventTarget(), { getVoices: () => [], speak() {}, cancel() {} }) });
  });
  for (const [lang, dictate, say, more, read, sets] of [
    ['en', 'Dictate', /This browser can’t transcribe speech\. To dictate, set up a transcription model in Settings/, '[data-act=more]', 'Read aloud', /no voice to read with/],
    ['zh-CN', '语音输入', /此浏览器无法转写语音/, '[data-act=more]', '朗读', /没有可用的朗读语音/]]) {
    await page.context().addCookies([{ name: 'fawn_prefs', value: `lang=${lang}`, url: bare.base }]);
    await page.goto(bare.base + newChat);
    await page.locator('#dictate').click();
    await page.waitForFunction((re) => new RegExp(re).test(document.querySelector('#toasts').innerText), say.source);
    assert.equal(await page.getAttribute('#dictate', 'aria-pressed'), 'false');
    assert.equal(await page.getAttribute('#dictate', 'aria-label'), dictate);
    await ask(page, bare.base, scripted({ text: 'The sun sets at eight.' }));
    await finished(page);
    await page.click(more);
    await page.getByRole('button', { name: read }).click();
    await page.waitForFunction((re) => new RegExp(re).test(document.querySelector('#toasts').innerText), sets.source);
  }
  clean(page);
  await page.context().close();
  await bare.stop();
});

const shots = process.env.FAWN_SHOTS; // a folder for pictures of the page

test('pictures stand in the chat with what made them, and Again asks for another', { skip }, async () => {
  const page = await open(browser, fawn.base);
  await ask(page, fawn.base, scripted({ tool_calls: [{ name: 'generate_image', args: { prompt: 'A red sun over a calm sea, flat colours', count: 2, seed: 7 } }] }, { text: 'Here are two suns.' }));
  await finished(page);
  const figure = page.locator('figure.made');
  await page.waitForSelector('details.trail:not([open])'); // it folds when the answer has ended, and the pictures stay
  await figure.waitFor();
  await until('two pictures', () => figure.locator('img').evaluateAll((all) => all.length === 2 && all.every((i) => i.naturalWidth > 100)));
  assert.match(await figure.innerText(), /A red sun over a calm sea, flat colours[\s\S]*pic-1[\s\S]*seed 7/);
  for (const [name, scheme, w] of [['light', 'light', 1440], ['dark', 'dark', 1440], ['phone', 'light', 390]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width: w, height: 900 });
    assert.ok(await figure.evaluate((el) => el.scrollWidth <= el.clientWidth && el.getBoundingClientRect().right <= innerWidth), `${name} is cut`);
    if (shots) await page.screenshot({ path: join(shots, `media-${name}.png`) });
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await figure.getByRole('button', { name: 'Again' }).click();
  assert.equal(await page.inputValue('#q'), 'Generate this image again with a different seed: A red sun over a calm sea, flat colours');
  await figure.locator('a').first().click();
  await page.waitForSelector('#panel img');
  clean(page);
  await page.context().close();
});

test('what is said comes into the message box, and an answer is read aloud until it is stopped', { skip }, async () => {
  const page = await open(browser, fawn.base, { permissions: ['microphone'] });
  await page.goto(fawn.base + newChat);
  await page.getByRole('button', { name: 'Dictate' }).click();
  const stop = page.getByRole('button', { name: 'Stop dictating' });
  await stop.waitFor({ timeout: 20_000 }).catch(async (err) => { throw new Error(await page.locator('#toasts').innerText(), { cause: err }); });
  await stop.click();
  await page.waitForFunction(() => document.querySelector('#q').value === 'Draw a sunset.');
  assert.ok(recorded > 200, `${recorded} bytes were recorded`);
  await ask(page, fawn.base, scripted({ text: 'The sun **sets** at eight.' }));
  await finished(page);
  await page.click('[data-act=more]');
  await page.getByRole('button', { name: 'Read aloud' }).click();
  await until('speech', () => spoken.length > 0);
  assert.equal(spoken[0], 'The sun sets at eight.');
  clean(page);
  await page.context().close();
});
