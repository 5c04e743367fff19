// The examples of docs/api.md in JavaScript, as they stand but for the address; python.test.mjs runs those in Python.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { here, start } from './harness.mjs';

test('the JavaScript of docs/api.md runs', async (t) => {
  const fawn = await start();
  t.after(() => fawn.stop());
  const text = readFileSync(join(here, '..', '..', 'docs', 'api.md'), 'utf8');
  const examples = [...text.matchAll(/```js\n(.*?)```/gs)].map((m) => m[1]);
  assert.ok(examples.length > 0);
  for (const [i, code] of examples.entries()) {
    assert.ok(code.includes('http://127.0.0.1:2026'), code);
    const file = join(here, `example-${process.pid}-${i}.mjs`); // here, so that it finds the SDK
    t.after(() => rmSync(file, { force: true }));
    writeFileSync(file, code.replaceAll('http://127.0.0.1:2026', fawn.base));
    const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 120_000 });
    assert.match(stdout, /^metadata /m);
    assert.match(stdout, /^values /m);
  }
});
