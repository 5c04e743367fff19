// The kit of these tests itself: a server that logs an error fails the test that has it.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { complaints, here, start, until } from './harness.mjs';
import { gate, nightly } from './suites.mjs';

const config = 'backup: {cron: "never"}\n';
const tried = (fawn) => until('the server complains', () => fawn.log().includes('backup.cron has no effect'));

test('an error in the log fails whoever stops the server', async () => {
  const fawn = await start({ model: false, config });
  await tried(fawn);
  await assert.rejects(fawn.stop(), /level=ERROR msg="backup\.cron has no effect"/);
});

test('one that was announced does not', async () => {
  const fawn = await start({ model: false, config });
  fawn.expects(/backup\.cron has no effect/);
  await tried(fawn);
  await fawn.stop();
});

test('panics can not be announced, and words about errors are none', () => {
  const log = ['time=2026-01-02T03:04:05Z level=INFO msg="a tool said" text="x level=ERROR msg=y"', 'panic: runtime error: index out of range', 'fatal error: concurrent map writes',
    '{"time":"2026-01-02T03:04:05Z","level":"ERROR","msg":"request failed"}', '{"time":"2026-01-02T03:04:05Z","level":"WARN","msg":"x"}'].join('\n');
  assert.deepEqual(complaints(log, [/panic/, /fatal/]).map((l) => l.slice(0, 5)), ['panic', 'fatal', '{"tim']);
  assert.equal(complaints(log, [/request failed/]).length, 2);
});

test('every file is in exactly one part of nightly, beside those that run against several servers', () => {
  const files = readdirSync(here).filter((f) => f.endsWith('.test.mjs')).map((f) => f.replace('.test.mjs', ''));
  const listed = Object.values(nightly).flat();
  assert.deepEqual(listed.filter((f) => !f.endsWith('@3')).sort(), files.sort());
  for (const f of [...gate, ...listed]) assert.ok(files.includes(f.replace('@3', '')), `${f}.test.mjs isn't there`);
});
