// The image, as far as it can be looked at without a Docker daemon: its file system as the Dockerfile puts it
// together, its size, and what the Dockerfile starts, under runc with the filter of docs/docker. FAWN_IMAGE is the
// folder of one that was built, to look at instead.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { chownSync, copyFileSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { here, lacks } from './harness.mjs';
import { freePort } from './ports.mjs';

const top = join(here, '..', '..');
const has = (tool) => { try { execFileSync('sh', ['-c', `command -v ${tool}`], { stdio: 'ignore' }); return true; } catch { return false; } };
const skip = (process.platform !== 'linux' && 'images are of Linux') || lacks('busybox', has('busybox'));
const alone = skip || (process.getuid() !== 0 && 'only root runs containers here') || lacks('runc', has('runc'));

const dockerfile = readFileSync(join(top, 'Dockerfile'), 'utf8');
const word = (name) => JSON.parse(new RegExp(`${name} (\\[.*\\])$`, 'm').exec(dockerfile)[1]);
const dir = mkdtempSync(join(tmpdir(), 'fawn-image-'));
const built = process.env.FAWN_IMAGE;
const root = built ?? join(dir, 'root');
before(() => {
  if (skip || built) return;
  execFileSync(join(top, 'release', 'image.sh'), [root]);
  copyFileSync(join(top, 'bin', 'fawn'), join(root, 'usr', 'bin', 'fawn'));
});
after(() => rmSync(dir, { recursive: true, force: true }));

test('the data folder of a built image is its user\'s alone', { skip: skip || !built && 'FAWN_IMAGE is not set' }, () => {
  const { uid, gid, mode } = lstatSync(join(root, 'data'));
  assert.deepEqual([uid, gid, mode & 0o777], [65532, 65532, 0o700]);
  assert.equal(lstatSync(root).uid, 0);
});

test('the image has at most 80 MB', { skip }, (t) => {
  const size = (path) => {
    const s = lstatSync(path);
    return s.isDirectory() ? readdirSync(path).reduce((sum, f) => sum + size(join(path, f)), 0) : s.isFile() ? s.size : 0;
  };
  const mb = size(root) / 1e6;
  t.diagnostic(`${mb.toFixed(1)} MB`);
  assert.ok(mb > 60 && mb <= 80, `${mb} MB`);
});

// bundle is what runc needs to start the image: the Dockerfile's user, folder and variables, no rights, and the
// settings of docs/docker/compose.yaml. Its network is this machine's.
const bundle = (name, args) => {
  const at = join(dir, name);
  mkdirSync(at);
  execFileSync('runc', ['spec'], { cwd: at });
  const spec = JSON.parse(readFileSync(join(at, 'config.json'), 'utf8'));
  const id = Number(/^USER (\d+):/m.exec(dockerfile)[1]);
  const data = join(at, 'data');
  mkdirSync(data, { mode: 0o700 });
  chownSync(data, id, id);
  const filter = JSON.parse(readFileSync(join(top, 'docs', 'docker', 'seccomp.json'), 'utf8'));
  const here = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' }[process.arch];
  assert.ok(filter.archMap.some((a) => a.architecture === here));
  delete filter.archMap; // what Docker makes of it
  filter.architectures = [here];
  Object.assign(spec.process, { terminal: false, user: { uid: id, gid: id }, args, cwd: '/data', capabilities: {}, noNewPrivileges: true,
    env: /^ENV (.*)$/m.exec(dockerfile)[1].split(' ') });
  spec.root = { path: root, readonly: true };
  spec.mounts = spec.mounts.filter((m) => m.destination !== '/sys/fs/cgroup').concat(
    { destination: '/data', type: 'bind', source: data, options: ['bind', 'rw'] },
    { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', 'mode=1777'] });
  spec.linux = { namespaces: spec.linux.namespaces.filter((n) => n.type !== 'network'), seccomp: filter };
  spec.mounts = spec.mounts.filter((m) => m.destination !== '/sys');
  writeFileSync(join(at, 'config.json'), JSON.stringify(spec));
  return { at, id: `fawn-${process.pid}-${name}` };
};
const inside = async (name, ...args) => {
  mkdirSync(join(root, 'data'), { recursive: true });
  const b = bundle(name, args);
  return (await promisify(execFile)('runc', ['--root', join(dir, 'state'), 'run', '-b', b.at, b.id], { timeout: 120_000 })).stdout;
};

test('commands run in namespaces, under the filter of docs/docker', { skip: alone, timeout: 300_000 }, async () => {
  const said = await inside('doctor', 'fawn', 'doctor');
  assert.match(said, /^ok {4}sandbox +namespace: userns/m);
  assert.doesNotMatch(said, /reduced isolation|FAIL/);
  const out = await inside('run', 'fawn', 'run', 'run: seq 41 43 | tail -1 | sed s/^/busy-/ && id -u');
  assert.match(out, /busy-43/);
});

test('the server wants an account, and is healthy', { skip: alone, timeout: 300_000 }, async (t) => {
  mkdirSync(join(root, 'data'), { recursive: true });
  const port = await freePort();
  const here = (list) => list.map((w) => w.replace(':2026', `:${port}`));
  const b = bundle('serve', here([...word('ENTRYPOINT'), ...word('^CMD')]));
  const runc = ['--root', join(dir, 'state')];
  const child = spawn('runc', [...runc, 'run', '-b', b.at, b.id], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  const ended = new Promise((done) => child.on('exit', done));
  const ready = new Promise((done, fail) => {
    for (const out of [child.stdout, child.stderr]) out.on('data', (d) => { log += d; if (/Fawn is ready/.test(log) && /owner|account/.test(log)) done(); });
    ended.then(() => fail(new Error(`it ended: ${log}`)));
  });
  t.after(async () => {
    try { execFileSync('runc', [...runc, 'kill', b.id, 'KILL']); } catch { /* it has ended */ }
    await ended;
  });
  await ready;
  execFileSync('runc', [...runc, 'exec', b.id, ...here(word('HEALTHCHECK .* CMD'))]);
  const link = /http:\/\/\S+\/\S+/.exec(log);
  assert.ok(link, log);
  assert.equal((await fetch(`http://127.0.0.1:${port}/threads`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })).status, 401);
  assert.equal((await fetch(link[0], { redirect: 'manual' })).status, 200);
  execFileSync('runc', [...runc, 'kill', b.id, 'TERM']);
  assert.equal(await ended, 0, log);
});
