// Runs the browser and SDK tests that each change has to pass, on one server and in one browser: node gate.mjs.
// A file that kills or configures its server starts its own and shares the browser.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, here, lacks, start } from './harness.mjs';
import { gate as files } from './suites.mjs';

const names = process.argv.length > 2 ? process.argv.slice(2) : files.map((f) => f + '.test.mjs');

// What the files that share the server configure.
const config = `uploads: {max_file_size: 1MB}
scheduler: {min_once_delay_seconds: 0}
sandbox: {network: {allow_private: [127.77.0.0/16]}}
`;
const skip = lacks('Chromium', existsSync(chromium)); // then the files skip as well
const fawn = await start({ config });
const browser = skip ? null : await (await import('./browser.mjs')).serve();
const gate = { base: fawn.base, dir: fawn.dir, data: fawn.data, log: join(fawn.dir, 'fawn.log'), model: fawn.script.url, browser: browser?.wsEndpoint() };
const args = ['--test', '--test-concurrency=2', '--test-timeout=600000', ...names];
const tests = spawn(process.execPath, args, { cwd: here, stdio: 'inherit', env: { ...process.env, FAWN_GATE: JSON.stringify(gate) } });
process.exitCode = await new Promise((done) => tests.on('exit', (code) => done(code ?? 1)));
await browser?.close();
await fawn.stop();
