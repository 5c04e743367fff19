// Documents of all kinds and languages, and files that are made to hurt: each ends as text
// that is all there, or with a clear reason. A sample in CI, all of them in make nightly-soak.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, openAsBlob, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { entries, print } from './corpus/print.mjs';
import { f1, plain, problems } from './corpus/score.mjs';
import { here, lacks, start, until } from './harness.mjs';
import { install, program } from './python.mjs';

const whole = process.env.FAWN_SOAK === '1';
const run = (cmd, args) => spawnSync(cmd, args, { encoding: 'utf8', timeout: 240_000 });
const dir = mkdtempSync(join(tmpdir(), 'fawn-corpus-')), files = join(dir, 'files');
let fawn, missing = false;

before(async () => {
  const why = await install('corpus/requirements.txt');
  missing = lacks(`what writes documents (${why})`, !why);
  if (missing) return;
  const made = run(program('python'), [join(here, 'corpus', 'make.py'), files, ...whole ? [] : ['sample']]);
  assert.equal(made.status, 0, made.stderr);
  await print(files);
  fawn = await start({ config: 'uploads: {max_files: 300}\n' });
}, { timeout: 900_000 });
after(async () => {
  await fawn?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const thread = 'corpus';

// settled uploads files to a thread, and gives what is known of them once none is pending.
const settled = async (some, thread) => {
  const form = new FormData();
  for (const e of some) form.append('files', await openAsBlob(join(files, e.file)), e.file);
  const sent = await fetch(`${fawn.base}/api/threads/${thread}/uploads`, { method: 'POST', body: form });
  assert.equal(sent.status, 200, await sent.clone().text());
  return until('no document is pending', async () => {
    const { files } = await fetch(`${fawn.base}/api/threads/${thread}/uploads/list`).then((r) => r.json());
    return files.every((f) => f.conversion?.state !== 'pending') && files;
  }, 1_500_000);
};

test('documents become text, and hostile ones end with a reason', { timeout: 1_800_000 }, async (t) => {
  if (missing) { t.skip(missing); return; }
  const all = entries(files);
  const peak = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${fawn.pid()}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  await settled(all.slice(0, 1), 'first'); // what the first conversion of a server takes is no growth
  writeFileSync(`/proc/${fawn.pid()}/clear_refs`, '5');
  const before = peak();
  const done = await settled(all, thread);
  const wrong = [];
  let good = 0, least = 1;
  for (const e of all) {
    const f = done.find((f) => f.filename === e.file), { state, reason = '' } = f?.conversion ?? {};
    const text = f?.markdown_artifact_url ? await fetch(fawn.base + f.markdown_artifact_url).then((r) => r.text()) : '';
    if (e.reasons) {
      if (!e.reasons.includes(reason)) wrong.push(`${e.file}: ${state} ${reason}, not one of ${e.reasons}`);
      if (!reason && state !== 'converted') wrong.push(`${e.file}: ${state} without a reason`);
      if (e.absent && text.includes(e.absent)) wrong.push(`${e.file} has ${e.absent}`);
      continue;
    }
    good++;
    const found = state === 'converted' ? problems(e, text) : [`${state} ${reason}`];
    least = Math.min(least, f1(e.text, plain(text)));
    if (found.length) wrong.push(`${e.file}: ${found.join(', ')}`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(all.length >= (whole ? 200 : 40), `${all.length} documents`);
  const grown = peak() - before;
  t.diagnostic(`${good} documents with a word F1 of at least ${least.toFixed(3)}, ${all.length - good} hostile ones; the server grew by ${grown.toFixed(0)} MiB at most`);
  if (whole) assert.ok(grown <= 32, `the server grew by ${grown.toFixed(0)} MiB`);
});
