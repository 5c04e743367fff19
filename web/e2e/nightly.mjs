// Runs parts of the nightly end-to-end tests, all of them where none is named: node nightly.mjs [chat] [pages] [sdk] [servers] [release].
import { spawnSync } from 'node:child_process';
import { here } from './harness.mjs';
import { nightly } from './suites.mjs';

const parts = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(nightly);
const unknown = parts.filter((p) => !nightly[p]);
if (unknown.length) throw new Error(`no part is called ${unknown.join(', ')}: there are ${Object.keys(nightly).join(', ')}`);

const node = (...args) => spawnSync(process.execPath, args, { cwd: here, stdio: 'inherit', env: { ...process.env, FAWN_CI: process.env.FAWN_CI ?? '1' } }).status === 0;
const failed = [];
for (const part of parts) {
  const began = Date.now();
  const of = (many) => nightly[part].filter((f) => f.endsWith('@3') === many).map((f) => f.replace(/@3$/, '') + '.test.mjs');
  let ok = node('--test', '--test-concurrency=2', '--test-timeout=1800000', ...of(false)); // for a whole file, not for each test
  if (of(true).length) ok = node('servers.mjs', ...of(true)) && ok;
  console.log(`nightly e2e, ${part}: ${ok ? 'passed' : 'FAILED'} in ${Math.round((Date.now() - began) / 1000)} s`);
  if (!ok) failed.push(part);
}
process.exitCode = failed.length ? 1 : 0;
