// Fawn as an MCP server, used by the official SDK of TypeScript over HTTP and standard input, by the
// inspector, and checked by the conformance suite of the protocol.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { here, scripted, start } from './harness.mjs';

const run = promisify(execFile);
const modules = join(here, 'node_modules');
const fawnBin = process.env.FAWN_BIN ?? join(here, '..', '..', 'bin', 'fawn');
const dir = mkdtempSync(join(tmpdir(), 'fawn-mcp-'));
let fawn;

before(async () => { fawn = await start(); });
after(async () => { await fawn?.stop(); rmSync(dir, { recursive: true, force: true }); });

const report = '/mnt/user-data/outputs/report.md';
const writes = scripted(
  { text: 'Looking', tool_calls: [{ name: 'write_file', args: { description: 'write the report', path: report, content: '# Report\n\nAll is well.' } }] },
  { tool_calls: [{ name: 'present_files', args: { filepaths: [report] } }] },
  { text: 'The report is written.' });
const asks = scripted({ tool_calls: [{ name: 'ask_clarification', args: { question: 'Which town?', clarification_type: 'missing_info' } }] }, { text: 'Oslo it is.' });

// job is what another agent does with Fawn: a task with a file, its steps, its answer and its
// files, a question, and the list of conversations.
const job = async (transport) => {
  const client = new Client({ name: 'e2e', version: '1' });
  await client.connect(transport);
  const steps = [];
  const call = async (name, args) => {
    const r = await client.callTool({ name, arguments: args }, undefined, { onprogress: (p) => steps.push(p.message), resetTimeoutOnProgress: true });
    assert.ok(!r.isError, JSON.stringify(r));
    return r;
  };
  try {
    assert.match(client.getInstructions(), /start_task/);
    assert.equal((await client.listTools()).tools.length, 9);
    const begun = (await call('start_task', { message: writes, mode: 'flash', files: [{ name: 'notes.txt', text: 'mind the gap' }] })).structuredContent;
    const done = await call('wait_task', { thread_id: begun.thread_id });
    assert.equal(done.structuredContent.status, 'completed');
    assert.equal(done.content[0].text, 'The report is written.');
    const link = done.content.find((c) => c.type === 'resource_link');
    assert.equal(link.name, 'report.md');
    assert.equal((await client.readResource({ uri: link.uri })).contents[0].text, '# Report\n\nAll is well.');
    assert.ok((await client.listResources()).resources.some((r) => r.uri === link.uri));
    assert.equal((await call('read_artifact', { thread_id: begun.thread_id, path: report })).content[0].text, '# Report\n\nAll is well.');
    const asked = (await call('ask', { thread_id: begun.thread_id, message: asks })).structuredContent;
    assert.deepEqual([asked.status, asked.question.text], ['input_required', 'Which town?']);
    const said = await call('answer_question', { thread_id: begun.thread_id, answer: 'Oslo' });
    assert.equal(said.content[0].text, 'Oslo it is.');
    const { threads } = (await call('list_threads', {})).structuredContent;
    assert.ok(threads.some((t) => t.thread_id === begun.thread_id));
    assert.ok(steps.includes('Writing'), steps.join(' | '));
    const held = (await call('start_task', { message: scripted({ text: 'x', gate: 'never', tokens: 1 }) })).structuredContent;
    assert.equal((await call('cancel_task', { thread_id: held.thread_id })).structuredContent.status, 'canceled');
    const none = await client.callTool({ name: 'get_task', arguments: { thread_id: 'none' } });
    assert.ok(none.isError && /not found/.test(none.content[0].text), JSON.stringify(none));
  } finally {
    await client.close();
  }
};

test('a whole job over HTTP', () => job(new StreamableHTTPClientTransport(new URL(fawn.base + '/mcp'))));

test('a whole job over standard input, through the server that runs', () =>
  job(new StdioClientTransport({ command: fawnBin, args: ['mcp', '--data', fawn.data], stderr: 'ignore' })));

test('the inspector lists the tools and gives a task', async () => {
  const inspect = async (...args) => JSON.parse((await run(process.execPath,
    [join(modules, '.bin', 'mcp-inspector-cli'), '--cli', fawn.base + '/mcp', '--transport', 'http', ...args])).stdout);
  const { tools } = await inspect('--method', 'tools/list');
  assert.ok(tools.every((t) => t.description && t.inputSchema.type === 'object' && t.outputSchema));
  const { structuredContent } = await inspect('--method', 'tools/call', '--tool-name', 'ask', '--tool-arg', 'message=' + scripted({ text: 'Hello, inspector.' }));
  assert.equal(structuredContent.answer, 'Hello, inspector.');
  const { resourceTemplates } = await inspect('--method', 'resources/templates/list');
  assert.equal(resourceTemplates.length, 1);
});

// Of the suite's scenarios for servers these are about every server. The others call tools, prompts
// and resources that a server written for the suite has, such as test_simple_text.
const scenarios = ['server-initialize', 'ping', 'tools-list', 'resources-list', 'prompts-list', 'logging-set-level',
  'server-sse-multiple-streams', 'dns-rebinding-protection'];

const suite = join(modules, '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
const shim = join(dir, 'shim.mjs');
// The suite wants a function of newer versions of Node, for what it does not do here.
const fs = 'data:text/javascript,' + encodeURIComponent('export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => [];');
const hook = `export const resolve = (name, ctx, next) => name === 'fs' && ctx.parentURL?.includes('/conformance/') ? { url: ${JSON.stringify(fs)}, shortCircuit: true } : next(name, ctx);`;
writeFileSync(shim, `import { register } from 'node:module';\nregister('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));\n`);
const conform = async (...args) => {
  const { stdout, stderr } = await run(process.execPath, ['--import', shim, suite, ...args], { cwd: dir });
  return stdout + stderr;
};

test('the conformance suite passes for servers', async () => {
  for (const scenario of scenarios) {
    assert.match(await conform('server', '--url', fawn.base + '/mcp', '--scenario', scenario), /\b0 failed/, scenario);
  }
});

// Used as a client, Fawn is given the server of a scenario in its settings, and has a run call its tool.
const asClient = async (call) => {
  const url = process.argv.at(-1);
  const json = async (path, method, body) => {
    const r = await fetch(process.env.FAWN + path, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
    if (!r.ok) throw new Error(`${path}: ${r.status} ${await r.text()}`);
    return r.json();
  };
  await json('/api/mcp/config', 'PUT', { mcp_servers: { suite: { enabled: true, type: 'http', url } } });
  for (let state; state !== 'ready'; await new Promise((next) => setTimeout(next, 50))) {
    state = (await json('/api/mcp/status', 'GET')).servers.find((s) => s.name === 'suite')?.state;
    if (state === 'failed') throw new Error('no connection');
  }
  if (!call) return;
  const content = 'SCRIPT' + JSON.stringify({ turns: [{ tool_calls: [call] }, { text: 'done' }] });
  await json('/runs/wait', 'POST', { assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content }] } });
};

test('the conformance suite passes for clients', async () => {
  const calls = { initialize: null, tools_call: { name: 'suite_add_numbers', args: { a: 5, b: 3 } } };
  process.env.FAWN = fawn.base;
  for (const [scenario, call] of Object.entries(calls)) {
    const client = join(dir, scenario + '.mjs');
    writeFileSync(client, `await (${asClient})(${JSON.stringify(call)});\n`);
    const said = await conform('client', '--command', `${process.execPath} ${client}`, '--scenario', scenario);
    assert.match(said, /OVERALL: PASSED/, said);
  }
});
