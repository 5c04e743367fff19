// The official Python SDK, in a virtual environment of its own.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { here, lacks, start } from './harness.mjs';

const run = (cmd, args, options = {}) => spawnSync(cmd, args, { encoding: 'utf8', timeout: 240_000, ...options });
const dir = mkdtempSync(join(tmpdir(), 'fawn-venv-'));

let fawn, missing = false;
before(async () => {
  const venv = run('python3', ['-m', 'venv', dir]);
  let pip = false;
  for (let i = 0; i < 3 && venv.status === 0 && pip?.status !== 0; i++) { // a registry may have the hiccups
    pip = run(join(dir, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', '-r', join(here, 'requirements.txt')]);
  }
  missing = lacks('the Python SDK (venv and pip)', pip && pip.status === 0);
  if (missing) missing += `: ${(pip?.stderr || venv.stderr || '').trim().split('\n').pop()}`;
  else fawn = await start();
}, { timeout: 900_000 });
after(async () => {
  await fawn?.stop();
  rmSync(dir, { recursive: true, force: true });
});

// python runs a program of the virtual environment; not with spawnSync: this
// process also watches the servers.
const python = (t, program, args) => {
  if (missing) { t.skip(missing); return null; }
  return new Promise((done) => {
    execFile(join(dir, 'bin', program), args, { timeout: 420_000, maxBuffer: 1 << 26, cwd: dir, env: { ...process.env, PYTHONUTF8: '1' } },
      (err, stdout, stderr) => done({ err, stdout, stderr }));
  });
};

for (const file of ['methods_check.py', 'sdk_check.py', 'runs_check.py', 'records_check.py', 'samples_check.py', 'protocol_check.py', 'remote_check.py', 'docs_check.py']) {
  test(`the Python SDK: ${file}`, { timeout: 450_000 }, async (t) => {
    const out = await python(t, 'python', [join(here, file), fawn?.base]);
    if (!out) return;
    for (const line of out.stdout.trim().split('\n')) t.diagnostic(line);
    assert.equal(out.err, null, out.stderr.slice(-3000));
  });
}

// A program that reads the description of the API and sends what it allows and
// what it does not: nothing may be a 5xx or an answer that is not described. Runs that
// wait for their time are left after a few seconds.
test('the API answers as its description says', { timeout: 900_000 }, async (t) => {
  // One worker: two parse Python at the same time, which that of Debian gets wrong now and then.
  const look = () => python(t, 'schemathesis', ['run', `${fawn?.base}/openapi.json`, '--phases', 'examples,coverage',
    '--checks', 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance',
    '--generation-deterministic', '--request-timeout', '5', '--workers', '1', '--no-color',
    '--continue-on-failure', '--exclude-by', '/x-endless == true']);
  let out = await look();
  if (out?.err && !/= FAILURES =/.test(out.stdout)) { // no answer was wrong: the program itself could not go on
    t.diagnostic(`once more, as it ended with ${out.stdout.slice(Math.max(0, out.stdout.search(/= ERRORS =/))).slice(0, 3000)}`);
    out = await look();
  }
  if (!out) return;
  t.diagnostic(out.stdout.match(/Test cases:\n.*/)?.[0] ?? 'no count');
  assert.match(out.stdout, /[1-9]\d{2,} generated/);
  assert.ok(out.err === null, out.stdout.slice(Math.max(0, out.stdout.search(/= (FAILURES|ERRORS) =/))).slice(0, 6000) + out.stderr.slice(-2000));
});
