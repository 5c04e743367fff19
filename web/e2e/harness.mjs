// What every end-to-end test needs: the real binary and the scripted model as
// children on free ports with folders of their own, a browser, and the rule for
// what may be skipped.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, closeSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { roundRobin, startPostgres } from './cluster.mjs';
import { freePort } from './ports.mjs';

export const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '..', '..');
const fawnBin = process.env.FAWN_BIN ?? join(root, 'bin', 'fawn');
const modelBin = join(root, 'bin', 'scriptmodel');
const chatBin = join(root, 'bin', 'chatapp');
export const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';
const shell = '/usr/bin/chromium-headless-shell';
// engine is Chromium without what surrounds a page, where that is installed: it takes a third less of the processor.
export const engine = !process.env.CHROMIUM && existsSync(shell) ? shell : chromium;

// A test may only be skipped for what a machine lacks, and never in CI.
export const lacks = (what, there) => {
  if (there) return false;
  if (process.env.FAWN_CI === '1') throw new Error(`${what} is missing, and CI skips nothing`);
  return `${what} is missing`;
};

for (const bin of [fawnBin, modelBin]) {
  if (!existsSync(bin)) throw new Error(`${bin} is missing: run the tests with make e2e`);
}

const children = new Set();
const serving = new Set(); // logs of servers that nobody has stopped

const killGroup = (child, signal) => {
  try { process.kill(-child.pid, signal); } catch { /* it has ended */ }
};
process.on('exit', () => {
  for (const c of children) killGroup(c, 'SIGKILL');
  for (const log of serving) {
    console.error(`nobody stopped the server of ${log}`);
    process.exitCode = 1;
  }
});
for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => process.exit(1));

// launch starts a process in a group of its own that ends with the tests.
export const launch = (log, bin, args, env) => {
  const fd = openSync(log, 'a');
  const child = spawn(bin, args, { detached: true, stdio: ['ignore', fd, fd], env: { ...process.env, ...env } });
  closeSync(fd);
  children.add(child);
  child.ended = new Promise((done) => child.on('exit', (code, signal) => { children.delete(child); done({ code, signal }); }));
  return child;
};

export const end = async (child, signal = 'SIGTERM') => {
  if (!children.has(child)) return child.ended;
  child.kill(signal);
  const ended = new AbortController(); // a timer left behind would keep the whole test file waiting
  const out = await Promise.race([child.ended, delay(60_000, null, { signal: ended.signal }).catch(() => null)]);
  ended.abort();
  killGroup(child, 'SIGKILL');
  await child.ended;
  if (!out) throw new Error('the process did not end within a minute of ' + signal);
  return out;
};

const answers = async (child, url, log) => {
  for (const until = Date.now() + 120_000; Date.now() < until; await delay(20)) {
    if (!children.has(child)) break;
    const ok = await fetch(url).then((r) => r.ok, () => false);
    if (ok) return;
  }
  throw new Error(`${url} does not answer; log:\n${readFileSync(log, 'utf8').slice(-4000)}`);
};

// begin starts a server at an address and waits until it answers. Another one may have been told
// to use the port in the meantime: then it gives another chance, with a new address unless the old one
// must be kept.
const begin = async (log, bin, args, env, addr, path) => {
  for (let left = 20; ; left--) {
    const at = addr ?? `127.0.0.1:${await freePort()}`, from = existsSync(log) ? statSync(log).size : 0;
    const child = launch(log, bin, args(at), env);
    try {
      await answers(child, `http://${at}${path}`, log);
      return { child, addr: at };
    } catch (err) {
      const said = readFileSync(log, 'utf8').slice(from);
      if (!left || children.has(child) || !/already in use/.test(said)) throw err;
      await delay(250);
    }
  }
};

// scriptOf controls the scripted model at an address: rules give scripts to plain words.
const scriptOf = (url) => ({
  url,
  rules: (list) => fetch(url + '/script/rules', { method: 'PUT', body: JSON.stringify(list) }),
  requests: () => fetch(url + '/script/requests').then((r) => r.json()),
  open: (gate) => fetch(`${url}/script/gates/${gate}`, { method: 'PUT' }),
  forget: () => fetch(url + '/script/requests', { method: 'DELETE' }),
});

// startModel serves the scripted model.
export const startModel = async (dir) => {
  const { child, addr } = await begin(join(dir, 'model.log'), modelBin, (at) => ['-addr', at], {}, null, '/v1/models');
  return { ...scriptOf(`http://${addr}`), stop: () => end(child) };
};

// complaints are the lines of a server's log that no test has announced: errors, and panics, which none can.
export const complaints = (log, announced = []) => log.split('\n').filter((line) => /^(panic|fatal error): |^WARNING: DATA RACE/.test(line)
  || /^(time=\S+ level=ERROR |\{"time":"[^"]*","level":"ERROR")/.test(line) && !announced.some((words) => words.test(line)));

// startChat serves stand-ins of Telegram and Slack, told apart by app: say is what somebody writes, messages and shown are
// those of a chat and their texts, and fails makes the next call of a kind fail.
export const startChat = async (dir) => {
  if (!existsSync(chatBin)) throw new Error(`${chatBin} is missing: run the tests with make e2e`);
  const log = join(dir, 'chat.log');
  const { child, addr } = await begin(log, chatBin, (at) => ['-addr', at], {}, null, '/');
  const url = `http://${addr}`, apps = await fetch(url + '/').then((r) => r.json());
  const post = (path, body) => fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
  const messages = async (chat, app = 'telegram') => await fetch(`${url}/${app}/shown?chat=${chat}`).then((r) => r.json()) ?? [];
  return {
    apps,
    token: apps.telegram.credentials.bot_token,
    say: (From, Name, Text, more = {}, app = 'telegram') => post(`/${app}/said`, { From, Name, Text, ...more }),
    fails: (Op, Kind, app = 'telegram') => post(`/${app}/fails`, { Op, Kind }),
    shown: async (chat, app) => (await messages(chat, app)).map((m) => m.Text),
    messages,
    broken: () => readFileSync(log, 'utf8'), // what the platforms would not have taken
    stop: () => end(child),
  };
};

// gate describes the server and the browser that gate.mjs runs for several test files, or is null where each file has its own.
export const gate = process.env.FAWN_GATE ? JSON.parse(process.env.FAWN_GATE) : null;

// borrow hands out the gate's server to a test file. It can't be stopped or restarted; stop fails when errors
// were logged since it was borrowed.
const borrow = ({ base, dir, data, log, model }) => {
  const from = statSync(log).size;
  const said = () => readFileSync(log).subarray(from).toString();
  return {
    base, dir, data, log: said, script: scriptOf(model),
    stop: async () => {
      const wrong = complaints(said());
      if (wrong.length) throw new Error(`the shared server logged errors:\n${wrong.join('\n')}`);
    },
  };
};

// start runs Fawn, with the scripted model unless model is false. config is
// YAML added to the file; models are more names of the scripted model, with
// their capabilities; scripted adds to the entry of the model itself; memory is the configuration
// of that, where the scripted model learns nothing by default. The same data folder
// and port survive restart. A server that logs an error fails the test that stops it, unless a test
// announced it: expects(/words of the line/). Several servers share a PostgreSQL, and base leads to the next of
// them with each request. A busy machine may let nobody renew a lease for seconds, so it is short only where a test waits
// for its end. A shared server is the gate's where there is one: its configuration (gate.mjs) must contain what the
// file configures.
export const start = async ({ model = true, scripted = '', models = {}, memory = 'model_name: offline', config = '', env = {},
  servers = Number(process.env.FAWN_TEST_SERVERS ?? 1), lease = 60, shared = false } = {}) => {
  if (shared && gate) return borrow(gate);
  const dir = mkdtempSync(join(tmpdir(), 'fawn-e2e-'));
  const script = model ? await startModel(dir) : null;
  const file = join(dir, 'config.yaml');
  const entry = (name, more) => `  - {name: ${name}, use: "langchain_openai:ChatOpenAI", model: script, base_url: ${script.url}/v1, api_key: test, ${more}}\n`;
  const written = script
    ? `title: {model_name: offline}\nmemory: {${memory}}\nmodels:\n` + entry('script', 'display_name: Scripted' + scripted) + Object.entries(models).map(([n, more]) => entry(n, more)).join('')
    : '';
  const postgres = servers > 1 ? await startPostgres() : null;
  // FAWN_TEST_PG is the address of a PostgreSQL to have the rows, those of each start in a schema of its own.
  const url = postgres?.url ?? process.env.FAWN_TEST_PG;
  const database = url ? `database: {url: "${url}", schema: ${basename(dir).toLowerCase()}}\n` : '';
  const cluster = servers > 1 ? `cluster: {enabled: true, lease: ${lease}}\nfiles: {dir: ${join(dir, 'files')}}\n` : '';
  if (servers > 1) mkdirSync(join(dir, 'files'));
  writeFileSync(file, written + database + cluster + config);
  const clean = Object.fromEntries(['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_BASE_URL'].map((k) => [k, '']));
  const announced = [];
  const all = Array.from({ length: servers }, (_, i) => {
    const s = { data: join(dir, i ? 'data' + i : 'data'), log: join(dir, i ? `fawn${i}.log` : 'fawn.log') };
    s.up = async () => {
      const args = (at) => ['serve', '--addr', at, '--data', s.data, '--config', file];
      ({ child: s.child, addr: s.addr } = await begin(s.log, fawnBin, args, { ...clean, ...env }, s.addr, '/ok'));
    };
    serving.add(s.log);
    return s;
  });
  const logs = () => all.map((s) => readFileSync(s.log, 'utf8')).join('');
  const up = () => Promise.all(all.map((s) => s.up()));
  await up().catch(async (err) => { // nothing may be left that keeps the tests from ending
    for (const c of [...children]) await end(c, 'SIGKILL');
    for (const s of all) serving.delete(s.log);
    await postgres?.stop();
    throw err;
  });
  const proxy = servers > 1 ? await roundRobin(all.map((s) => `http://${s.addr}`)) : null;
  return {
    base: proxy?.base ?? `http://${all[0].addr}`,
    dir, script, proxy,
    servers: all.map((s) => ({ base: `http://${s.addr}`, data: s.data, pid: () => s.child.pid, kill: () => end(s.child, 'SIGKILL'), leave: () => end(s.child), restart: s.up })),
    expects: (words) => announced.push(words),
    data: all[0].data,
    log: logs,
    pid: () => all[0].child.pid,
    kill: () => Promise.all(all.map((s) => end(s.child, 'SIGKILL'))),
    leave: () => Promise.all(all.map((s) => end(s.child))).then((outs) => outs[0]), // as a service manager asks for; restart comes after it
    restart: up,
    stop: async () => {
      const outs = await Promise.all(all.map((s) => end(s.child)));
      await proxy?.stop();
      await script?.stop();
      await postgres?.stop();
      for (const s of all) serving.delete(s.log);
      const wrong = complaints(logs(), announced);
      if (process.env.FAWN_KEEP !== '1') rmSync(dir, { recursive: true, force: true });
      const failed = outs.find((out) => out.code !== 0 && out.signal !== 'SIGKILL');
      if (failed) throw new Error(`fawn ended with ${failed.code ?? failed.signal}`);
      if (wrong.length) throw new Error(`the server logged what no test expects:\n${wrong.join('\n')}`);
    },
  };
};

// relay stands between browser and server like a bad network. refuse is a list
// of what happens to the next streams instead of an answer, 'reset' or a status;
// cut ends each stream so many milliseconds after its headers; down drops everything; mute lets
// nothing more through on the streams that are open.
export const relay = async (base) => {
  const r = { streams: 0, refuse: [], cut: 0, down: false }, open = new Set();
  const server = http.createServer((req, res) => {
    const stream = /\/stream\?/.test(req.url);
    if (r.down) { req.socket.destroy(); return; }
    if (stream) {
      r.streams++;
      const how = r.refuse.shift();
      if (how === 'reset') { req.socket.destroy(); return; }
      if (how) { res.writeHead(how).end(); return; }
    }
    const up = http.request(base + req.url, { method: req.method, headers: req.headers }, (from) => {
      res.writeHead(from.statusCode, from.headers);
      if (stream) {
        const mine = { muted: false };
        open.add(mine);
        from.on('data', (part) => { if (!mine.muted) res.write(part); });
        from.on('end', () => { if (!mine.muted) res.end(); });
        res.on('close', () => open.delete(mine));
      } else from.pipe(res);
      if (stream && r.cut) setTimeout(() => res.destroy(), r.cut);
      from.on('error', () => res.destroy());
    });
    up.on('error', () => res.destroy());
    res.on('close', () => up.destroy());
    req.pipe(up);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  r.base = `http://127.0.0.1:${server.address().port}`;
  r.drop = () => server.closeAllConnections();
  r.mute = () => { for (const s of open) s.muted = true; };
  r.stop = () => { server.closeAllConnections(); return new Promise((done) => server.close(done)); };
  return r;
};

// words is a script of n words at a rate, told in a message.
export const words = (n, rate = 0) => `echo ${n} tokens at ${rate} tok/s`;
// held says so many words, and as many more as it is told once its gate is open.
export const held = (gate, n, more = 1) => scripted({ text: 'lorem '.repeat(n), gate, tokens: more });
export const scripted = (...turns) => 'SCRIPT' + JSON.stringify({ turns });

// until waits for something to become true, and says what when it does not.
export const until = async (what, check, ms = 120_000) => {
  for (const limit = Date.now() + ms; Date.now() < limit; await delay(25)) {
    const got = await check();
    if (got) return got;
  }
  throw new Error(`after ${ms} ms still not: ${what}`);
};
