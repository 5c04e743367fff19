// Several servers that share a PostgreSQL and the folder of the threads' files, behind a proxy that
// sends each request to the next of them: nobody can rely on who answered before.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, chmodSync, chownSync, rmSync } from 'node:fs';
import { execFileSync, spawn } from 'node:child_process';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './ports.mjs';

// programs is the folder of PostgreSQL's server, the newest there is; Debian's are not in the path.
const programs = () => {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => b - a).map((v) => join(debian, v, 'bin')) : [];
  return [...process.env.PATH.split(delimiter), ...versions].find((dir) => existsSync(join(dir, 'initdb')));
};

export const hasPostgres = () => Boolean(process.env.FAWN_TEST_PG || programs());

// owner is whom PostgreSQL runs as where the tests are root's, as which it does not run.
const owner = () => {
  if (process.getuid() !== 0) return {};
  const [, , uid, gid] = readFileSync('/etc/passwd', 'utf8').split('\n').map((l) => l.split(':')).find(([name]) => name === 'postgres');
  return { uid: Number(uid), gid: Number(gid) };
};

const running = new Set();
process.on('exit', () => { for (const child of running) child.kill('SIGQUIT'); });

// startPostgres starts a server in a folder of its own, or uses that of FAWN_TEST_PG.
export const startPostgres = async () => {
  if (process.env.FAWN_TEST_PG) return { url: process.env.FAWN_TEST_PG, stop: async () => {} };
  const bin = programs(), who = owner(), dir = mkdtempSync(join(tmpdir(), 'fawn-postgres-')), data = join(dir, 'data');
  mkdirSync(data, { mode: 0o700 });
  chmodSync(dir, 0o711);
  if (who.uid) chownSync(data, who.uid, who.gid);
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'fawn', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    { ...who, cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] });
  const port = await freePort();
  let said = '';
  const child = spawn(join(bin, 'postgres'), ['-D', data, '-p', port, '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=',
    '-c', 'fsync=off', '-c', 'max_connections=300', '-c', 'shared_buffers=32MB'], { ...who, cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  const ended = new Promise((done) => child.on('exit', () => { running.delete(child); done(); }));
  let ready;
  const up = new Promise((done) => { ready = done; });
  for (const out of [child.stdout, child.stderr]) {
    out.on('data', (text) => {
      said = (said + text).slice(-20_000);
      if (/ready to accept connections/.test(said)) ready();
    });
  }
  await Promise.race([up, ended, delay(120_000, null, { ref: false })]);
  if (!running.has(child) || !/ready to accept/.test(said)) throw new Error('PostgreSQL does not start:\n' + said);
  return {
    url: `postgres://fawn@127.0.0.1:${port}/postgres?sslmode=disable`,
    stop: async () => {
      child.kill('SIGINT'); // which ends connections
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
};

// roundRobin sends each request, streams too, to the next of the servers. One that nobody listens at is passed over.
export const roundRobin = async (targets) => {
  let turn = 0;
  const asked = targets.map(() => 0);
  const forward = (req, res, left) => {
    const n = turn++ % targets.length;
    const up = http.request(targets[n] + req.url, { method: req.method, headers: req.headers, agent: false }, (from) => {
      asked[n]++;
      delete from.headers.connection; // those are of one hop
      delete from.headers['keep-alive'];
      res.writeHead(from.statusCode, from.statusMessage, from.headers);
      from.pipe(res);
      from.on('error', () => res.destroy());
    });
    up.on('error', (err) => {
      if (err.code === 'ECONNREFUSED' && left > 1) forward(req, res, left - 1); // nothing of the body has been read
      else res.destroy();
    });
    res.once('close', () => up.destroy());
    up.once('socket', (s) => s.once('connect', () => req.pipe(up)));
  };
  const server = http.createServer((req, res) => forward(req, res, targets.length));
  server.requestTimeout = 0;
  const upgraded = new Set();
  server.on('upgrade', (req, socket, head) => { // a WebSocket stays with its server
    const n = turn++ % targets.length;
    const { hostname, port } = new URL(targets[n]);
    const up = net.connect(Number(port), hostname, () => {
      asked[n]++;
      const lines = [`${req.method} ${req.url} HTTP/1.1`];
      for (let i = 0; i < req.rawHeaders.length; i += 2) lines.push(`${req.rawHeaders[i]}: ${req.rawHeaders[i + 1]}`);
      up.write(lines.join('\r\n') + '\r\n\r\n');
      up.write(head);
      up.pipe(socket).pipe(up);
    });
    for (const [one, other] of [[up, socket], [socket, up]]) {
      upgraded.add(one);
      one.on('error', () => other.destroy());
      one.once('close', () => { upgraded.delete(one); other.destroy(); });
    }
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return {
    base: `http://127.0.0.1:${server.address().port}`,
    asked,
    stop: () => { server.closeAllConnections(); for (const one of upgraded) one.destroy(); return new Promise((done) => server.close(done)); },
  };
};
