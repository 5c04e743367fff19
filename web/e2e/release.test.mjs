// What is handed out: make release for this machine, looked at as those do who get it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { here, lacks } from './harness.mjs';

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

test('the list of parts is valid CycloneDX', { skip, timeout: 600_000 }, (t) => {
  const venv = join(dir, 'venv');
  let ok = spawnSync('python3', ['-m', 'venv', venv]).status === 0;
  const pip = () => spawnSync(join(venv, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', '-r',
    join(here, 'release', 'requirements.txt')]).status === 0;
  ok = ok && (pip() || pip() || pip()); // a registry may have the hiccups
  const missing = lacks('what validates CycloneDX (venv and pip)', ok);
  if (missing) return t.skip(missing);
  const check = `
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()))`;
  const sbom = join(dist, `${archive}.cdx.json`);
  assert.equal(run(join(venv, 'bin', 'python'), ['-c', check, sbom]), 'None\n');
  const broken = join(dir, 'broken.json'); // so that it is known to look
  writeFileSync(broken, readFileSync(sbom, 'utf8').replace('"type": "library"', '"type": "libary"'));
  assert.match(run(join(venv, 'bin', 'python'), ['-c', check, broken]), /libary/);
});
