// Runs test files of this folder against three servers that share a PostgreSQL, where each request goes to the next of
// them: node servers.mjs FILE...
import { spawn } from 'node:child_process';
import { hasPostgres, startPostgres } from './cluster.mjs';
import { here, lacks } from './harness.mjs';

const missing = lacks('PostgreSQL', hasPostgres());
if (missing) {
  console.log(`skipped: ${missing}`);
  process.exit();
}
const postgres = await startPostgres();
const args = ['--test', '--test-concurrency=2', '--test-timeout=1800000', ...process.argv.slice(2)];
const tests = spawn(process.execPath, args, { cwd: here, stdio: 'inherit', env: { ...process.env, FAWN_TEST_PG: postgres.url, FAWN_TEST_SERVERS: '3' } });
process.exitCode = await new Promise((done) => tests.on('exit', (code) => done(code ?? 1)));
await postgres.stop();
