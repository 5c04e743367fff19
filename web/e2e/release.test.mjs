// What is handed out: make release for this machine, looked at as those do who get it.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { here, lacks } from './harness.mjs';
import { install as packages, program as python } from './python.mjs';

const run = (cmd, args, options = {}) => {
  const out = spawnSync(cmd, args, { encoding: 'utf8', timeout: 900_000, maxBuffer: 1 << 28, ...options });
  assert.equal(out.status, 0, `${cmd} ${args.join(' ')}: ${out.error ?? ''} ${out.stderr}`);
  return out.stdout;
};
const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch];
const dir = mkdtempSync(join(tmpdir(), 'fawn-release-'));
const dist = join(dir, 'dist');
const release = (to) => run('make', ['release', `PLATFORMS=linux/${arch}`, `DIST=${to}`, 'VERSION=v0.0.1-test'], { cwd: join(here, '..', '..') });
const archive = `fawn-v0.0.1-test-linux-${arch}`;
const deb = `fawn_0.0.1+test_${arch}.deb`;

const skip = process.platform !== 'linux' && 'it is made for Linux here';
before(() => { if (!skip) release(dist); }, { timeout: 900_000 });
after(() => rmSync(dir, { recursive: true, force: true }));

test('a release has what its checksums say, twice the same', { skip, timeout: 900_000 }, () => {
  run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: dist });
  const sums = readFileSync(join(dist, 'SHA256SUMS'), 'utf8');
  assert.deepEqual(readdirSync(dist).filter((f) => f !== 'SHA256SUMS' && !sums.includes(`  ${f}\n`)), []);
  release(join(dir, 'again'));
  assert.equal(readFileSync(join(dir, 'again', 'SHA256SUMS'), 'utf8'), sums);
});

test('the archive and the package have the same program, which runs', { skip }, () => {
  run('tar', ['-xzf', join(dist, `${archive}.tar.gz`), '-C', dir]);
  const program = join(dir, archive, 'fawn');
  assert.match(run(program, ['version']), /^fawn v0\.0\.1-test /);
  for (const name of ['LICENSE', 'NOTICES.txt']) assert.ok(existsSync(join(dir, archive, name)), name);
  const missing = lacks('dpkg-deb', spawnSync('dpkg-deb', ['--version']).status === 0);
  if (missing) return;
  run('dpkg-deb', ['--extract', join(dist, deb), join(dir, 'deb')]);
  assert.ok(readFileSync(join(dir, 'deb', 'usr', 'bin', 'fawn')).equals(readFileSync(program)));
});

test('the list of parts is valid CycloneDX', { skip, timeout: 600_000 }, async (t) => {
  const why = await packages('release/requirements.txt');
  const missing = lacks(`what validates CycloneDX (${why})`, !why);
  if (missing) return t.skip(missing);
  const check = `
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()))`;
  const sbom = join(dist, `${archive}.cdx.json`);
  assert.equal(run(python('python'), ['-c', check, sbom]), 'None\n');
  const broken = join(dir, 'broken.json'); // so that it is known to look
  writeFileSync(broken, readFileSync(sbom, 'utf8').replace('"type": "library"', '"type": "libary"'));
  assert.match(run(python('python'), ['-c', check, broken]), /libary/);
});

const script = join(here, '..', '..', 'release', 'install.sh');

// install runs the script as somebody new to Fawn would, not as root, with what the test says.
const install = (env, { uname } = {}) => new Promise((done) => {
  const home = mkdtempSync(join(dir, 'home-'));
  let path = process.env.PATH;
  if (uname) {
    mkdirSync(join(home, 'fake'));
    writeFileSync(join(home, 'fake', 'uname'), `#!/bin/sh\ncase $1 in -s) echo ${uname[0]};; *) echo ${uname[1]};; esac\n`, { mode: 0o755 });
    path = `${join(home, 'fake')}:${path}`;
  }
  const to = join(home, '.local', 'bin');
  execFile('sh', [script], { timeout: 120_000, env: { PATH: path, HOME: home, FAWN_TO: to, ...env } },
    (err, stdout, stderr) => done({ code: err?.code ?? 0, stdout, stderr, program: join(to, 'fawn') }));
});

// serving is a web server with the files of a folder.
const serving = async (t, folder) => {
  const server = http.createServer((req, res) => {
    const file = join(folder, decodeURIComponent(req.url));
    if (!existsSync(file)) { res.writeHead(404).end('<html>not here</html>'); return; }
    res.end(readFileSync(file));
  });
  await new Promise((up) => server.listen(0, '127.0.0.1', up));
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
};

test('the install script installs from an address and from a folder', { skip, timeout: 300_000 }, async (t) => {
  const from = await serving(t, dist);
  const out = await install({ FAWN_FROM: `${from}/` });
  assert.equal(out.code, 0, out.stderr);
  assert.match(out.stdout, /Installed .*fawn v0\.0\.1-test /);
  assert.ok(out.stdout.includes(`Start it with: ${out.program} serve\n`), out.stdout);
  assert.match(run(out.program, ['version']), /^fawn v0\.0\.1-test /);

  const busy = await install({ FAWN_FROM: dist }); // over a program that is there
  assert.equal(busy.code, 0, busy.stderr);
  run('sh', [join(dist, 'install.sh')], { env: { PATH: process.env.PATH, HOME: dir, FAWN_TO: join(busy.program, '..') } });
  assert.deepEqual(readdirSync(join(busy.program, '..')), ['fawn']);
});

test('what docs/operations.md says about a release works', { skip, timeout: 300_000 }, async (t) => {
  const page = readFileSync(join(here, '..', '..', 'docs', 'operations.md'), 'utf8');
  const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map((m) => m[1]);
  const [fetching, checking] = [/install\.sh \|/, /sha256sum/].map((words) => blocks.find((b) => words.test(b)));
  const from = await serving(t, dist), home = mkdtempSync(join(dir, 'home-'));
  const line = fetching.replaceAll('https://fawn.example.org/release', from);
  assert.notEqual(line, fetching);
  await promisify(execFile)('sh', ['-eu', '-c', line], { cwd: home, env: { PATH: process.env.PATH, HOME: home, FAWN_TO: join(home, 'bin') } });
  assert.match(run(join(home, 'bin', 'fawn'), ['version']), /^fawn v0\.0\.1-test /);
  const harmless = checking.split('\n').filter((l) => !l.startsWith('sudo ')).join('\n');
  assert.match(run('sh', ['-eu', '-c', harmless], { cwd: dir }), /: OK$/m);
});

test('the install script installs nothing that is wrong', { skip, timeout: 300_000 }, async (t) => {
  const bad = mkdtempSync(join(dir, 'bad-'));
  for (const f of [`${archive}.tar.gz`, 'SHA256SUMS']) copyFileSync(join(dist, f), join(bad, f));
  appendFileSync(join(bad, `${archive}.tar.gz`), 'x');
  const from = await serving(t, bad);
  for (const [what, env, options, says] of [
    ['a changed archive', { FAWN_FROM: from }, {}, /checksum/],
    ['an unknown system', { FAWN_FROM: dist }, { uname: ['Plan9', 'x86_64'] }, /no Fawn for Plan9/],
    ['an unknown processor', { FAWN_FROM: dist }, { uname: ['Linux', 'riscv64'] }, /kind riscv64/],
    ['a system that this release lacks', { FAWN_FROM: dist }, { uname: ['Darwin', 'arm64'] }, /nothing for darwin-arm64/],
    ['an address without a release', { FAWN_FROM: `${from}/nowhere` }, {}, /can't be had/],
    ['no place at all', {}, {}, /set FAWN_FROM/],
  ]) {
    const out = await install(env, options);
    assert.notEqual(out.code, 0, what);
    assert.match(out.stderr, says, what);
    assert.ok(!existsSync(out.program), `${what}: something was installed`);
  }
});

test('the scripts are what every shell understands', { skip }, (t) => {
  const missing = lacks('shellcheck', spawnSync('shellcheck', ['--version']).status === 0);
  if (missing) return t.skip(missing);
  run('shellcheck', [script, ...['postinst', 'postrm', 'prerm'].map((f) => join(here, '..', '..', 'release', 'deb', f))]);
});
