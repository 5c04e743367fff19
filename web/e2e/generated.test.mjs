// Clients that generators make from the served /openapi.json, which then do a whole job with the real binary: openapi-typescript
// with openapi-fetch, checked by TypeScript in its strict mode, and openapi-python-client.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { here, lacks, start } from './harness.mjs';
import { installIn, program } from './python.mjs';

const run = (cmd, args, cwd) => promisify(execFile)(cmd, args, { cwd, timeout: 300_000, maxBuffer: 1 << 26, env: { ...process.env, PYTHONUTF8: '1' } })
  .catch((err) => { throw new Error(`${cmd} ${args.join(' ')}\n${err.stdout ?? ''}\n${err.stderr ?? err}`.slice(0, 8000)); });
const npm = (name) => join(here, 'node_modules', '.bin', name);
const dir = mkdtempSync(join(here, 'generated-')); // here, so that the client finds its package

let fawn;
before(async () => {
  fawn = await start();
  const document = await fetch(fawn.base + '/openapi.json').then((r) => r.text());
  writeFileSync(join(dir, 'openapi.json'), document);
});
after(async () => {
  await fawn?.stop();
  rmSync(dir, { recursive: true, force: true });
});

test('a client by openapi-typescript does a whole job', { timeout: 400_000 }, async (t) => {
  await run(npm('openapi-typescript'), [join(dir, 'openapi.json'), '-o', join(dir, 'fawn.d.ts')], dir);
  cpSync(join(here, 'generated.ts'), join(dir, 'job.ts'));
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions: { strict: true, target: 'es2022', module: 'nodenext',
    moduleResolution: 'nodenext', lib: ['es2022', 'dom', 'dom.iterable'], types: [], outDir: 'out' }, files: ['job.ts'] }));
  writeFileSync(join(dir, 'package.json'), '{"type": "module"}');
  await run(npm('tsc'), ['-p', dir], dir);
  const { stdout } = await run(process.execPath, [join(dir, 'out', 'job.js'), fawn.base], dir);
  for (const line of stdout.trim().split('\n')) t.diagnostic(line);
  assert.match(stdout, /^done$/m);
});

test('a client by openapi-python-client does a whole job', { timeout: 900_000 }, async (t) => {
  const why = await installIn('python-openapi', 'requirements.openapi.txt');
  if (why) { t.skip(lacks(why, false)); return; }
  const to = join(dir, 'python');
  mkdirSync(to);
  const { stdout: made, stderr: told } = await run(program('openapi-python-client', 'python-openapi'), ['generate', '--path', join(dir, 'openapi.json'),
    '--meta', 'none', '--output-path', join(to, 'fawn_client'), '--overwrite'], to);
  assert.doesNotMatch(made + told, /WARNING|will not be generated/);
  const { stdout } = await run(program('python', 'python-openapi'), [join(here, 'generated_check.py'), fawn.base, to], dir);
  for (const line of stdout.trim().split('\n')) t.diagnostic(line);
  assert.match(stdout, /^done$/m);
});
