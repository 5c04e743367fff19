// Python environments for tests that need packages of PyPI, kept between runs: bin/python for most of them, and others for
// packages that want other versions of the same things.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { here } from './harness.mjs';

const bin = join(here, '..', '..', 'bin'), lock = join(bin, 'python.lock');
const run = (cmd, args) => spawnSync(cmd, args, { encoding: 'utf8', timeout: 240_000 });

export const program = (name, environment = 'python') => join(bin, environment, 'bin', name);

const alive = (pid) => { try { process.kill(pid, 0); return true; } catch { return false; } };

// locked runs f while no other process does.
const locked = async (f) => {
  mkdirSync(bin, { recursive: true });
  for (;; await delay(200)) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (err) {
      if (err.code !== 'EEXIST') throw err;
      const pid = existsSync(lock) && Number(readFileSync(lock, 'utf8'));
      if (pid && !alive(pid)) rmSync(lock, { force: true });
    }
  }
  try {
    return f();
  } finally {
    rmSync(lock, { force: true });
  }
};

// installIn installs the packages of requirements files in an environment, where they aren't installed yet. It returns why it
// couldn't, or ''.
export const installIn = (environment, ...files) => locked(() => {
  const dir = join(bin, environment), python = program('python', environment);
  if (run(python, ['-c', '']).status !== 0) {
    rmSync(dir, { recursive: true, force: true });
    const made = run('python3', ['-m', 'venv', dir]);
    if (made.status !== 0) return `python3 -m venv: ${made.error?.message ?? (made.stdout + made.stderr).trim()}`;
  }
  for (const file of files) {
    const text = readFileSync(join(here, file)), stamp = join(dir, createHash('sha256').update(text).digest('hex'));
    if (existsSync(stamp)) continue;
    let pip;
    for (let tries = 0; tries < 3 && pip?.status !== 0; tries++) { // PyPI may fail now and then
      pip = run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', join(here, file)]);
    }
    if (pip.status !== 0) return `pip install -r ${file}: ${(pip.stderr ?? '').trim().split('\n').pop()}`;
    writeFileSync(stamp, '');
  }
  return '';
});

export const install = (...files) => installIn('python', ...files);
