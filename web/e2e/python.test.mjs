// The official Python SDK, in a virtual environment of its own.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gate, here, lacks, start } from './harness.mjs';
import { install, program } from './python.mjs';

const dir = mkdtempSync(join(tmpdir(), 'fawn-python-'));

let fawn, missing = false;
before(async () => {
  const why = await install('requirements.txt', ...gate ? [] : ['requirements.schema.txt', 'requirements.clients.txt']);
  missing = lacks(`the Python SDK (${why})`, !why);
  if (!missing) fawn = await start({ shared: true });
}, { timeout: 900_000 });
after(async () => {
  await fawn?.stop();
  rmSync(dir, { recursive: true, force: true });
});

// python runs a program of the environment; not with spawnSync: this process also watches the servers.
const python = (t, name, args) => {
  if (missing) { t.skip(missing); return null; }
  return new Promise((done) => {
    execFile(program(name), args, { timeout: 420_000, maxBuffer: 1 << 26, cwd: dir, env: { ...process.env, PYTHONUTF8: '1' } },
      (err, stdout, stderr) => done({ err, stdout, stderr }));
  });
};

// The gate runs what people do every day; everything else is nightly's.
const checks = gate ? ['sdk_check.py']
  : ['methods_check.py', 'sdk_check.py', 'runs_check.py', 'records_check.py', 'samples_check.py', 'protocol_check.py', 'remote_check.py', 'openai_check.py', 'docs_check.py'];
for (const file of checks) {
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
test('the API answers as its description says', { timeout: 900_000, skip: gate ? 'it is nightly\'s' : false }, async (t) => {
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
