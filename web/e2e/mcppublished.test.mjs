// MCP servers as npm and PyPI have them, against the real program: each connects, lists what it has, and is called through
// the chat with the scripted model.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium, here, lacks, scripted, start, until } from './harness.mjs';
import { installIn, program } from './python.mjs';

const npm = (name) => join(here, 'node_modules', '.bin', name);
const pypi = (name) => program(name, 'python-mcp');
let fawn, site, page, repo;

before(async () => {
  const why = await installIn('python-mcp', 'requirements.mcp.txt');
  if (why) lacks(why, false); // its tests skip themselves
  site = createServer((req, res) => {
    if (req.url === '/robots.txt') return res.writeHead(404).end();
    res.setHeader('Content-Type', 'text/html; charset=utf-8');
    res.end('<!doctype html><title>Deer</title><main><h1>Deer at dawn</h1><p>Seven deer crossed the meadow.</p><button onclick="this.textContent=\'Counted\'">Count</button></main>');
  });
  await new Promise((done) => site.listen(0, '127.0.0.1', done));
  page = `http://127.0.0.1:${site.address().port}/`;
  const commands = [...Object.values(servers).map(({ command }) => command()), pypi('mcp-server-sqlite')];
  fawn = await start({ env: { DEER_FLOW_MCP_STDIO_COMMAND_ALLOWLIST: commands.join(',') } });
  repo = join(fawn.dir, 'repo');
  mkdirSync(repo);
  const git = (...args) => execFileSync('git', ['-C', repo, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args]);
  git('init', '-q');
  writeFileSync(join(repo, 'notes.txt'), 'seven deer\n');
  git('add', '.');
  git('commit', '-qm', 'Count the deer');
  writeFileSync(join(repo, 'notes.txt'), 'eight deer\n');
});
after(async () => { await fawn?.stop(); site?.close(); });

const workspace = '/mnt/user-data/workspace';

// servers are what is started, and the calls of each: a tool, its arguments, and words of its result, or of those of the
// error that it should answer with.
const servers = {
  everything: { command: () => npm('mcp-server-everything'), args: () => ['stdio'], tools: 10, calls: () => [
    ['echo', { message: 'hello' }, /hello/],
    ['get-sum', { a: 2, b: 40 }, /42/],
    ['get-tiny-image', {}, /image/i],
    ['get-annotated-message', { messageType: 'error', includeImage: false }, /error/i],
    ['get-structured-content', { location: 'Chicago' }, /temperature/],
    ['get-resource-links', { count: 2 }, /resource/i],
    ['get-resource-reference', { resourceType: 'Text', resourceId: 1 }, /resource/i],
    ['trigger-long-running-operation', { duration: 1, steps: 2 }, /completed/i],
    ['get-sum', { a: 'two' }, /error|invalid/i],
  ] },
  filesystem: { command: () => npm('mcp-server-filesystem'), args: () => [workspace], tools: 10, calls: () => [
    ['write_file', { path: workspace + '/deer.txt', content: 'seven deer\n' }, /deer\.txt/],
    ['read_text_file', { path: workspace + '/deer.txt' }, /seven deer/],
    ['edit_file', { path: workspace + '/deer.txt', edits: [{ oldText: 'seven', newText: 'eight' }] }, /eight/],
    ['list_directory', { path: workspace }, /deer\.txt/],
    ['search_files', { path: workspace, pattern: '*.txt' }, /deer\.txt/],
    ['get_file_info', { path: workspace + '/deer.txt' }, /size/],
    ['read_text_file', { path: '/etc/passwd' }, /denied|outside|not allowed/i],
  ], check: () => assert.equal(readFileSync(join(fawn.data, 'threads/filesystem/user-data/workspace/deer.txt'), 'utf8'), 'eight deer\n') },
  memory: { command: () => npm('mcp-server-memory'), tools: 8, env: () => ({ MEMORY_FILE_PATH: join(fawn.dir, 'memory.jsonl') }), calls: () => [
    ['create_entities', { entities: [{ name: 'Fawn', entityType: 'program', observations: ['one file'] }, { name: 'Go', entityType: 'language', observations: [] }] }, /Fawn/],
    ['create_relations', { relations: [{ from: 'Fawn', to: 'Go', relationType: 'is written in' }] }, /is written in/],
    ['search_nodes', { query: 'one file' }, /Fawn/],
    ['read_graph', {}, /is written in/],
    ['delete_entities', { entityNames: ['Go'] }, /deleted/i],
  ] },
  thinking: { command: () => npm('mcp-server-sequential-thinking'), tools: 1, calls: () => [
    ['sequentialthinking', { thought: 'Count them.', nextThoughtNeeded: true, thoughtNumber: 1, totalThoughts: 2 }, /"thoughtNumber": 1/],
    ['sequentialthinking', { thought: 'Seven.', nextThoughtNeeded: false, thoughtNumber: 2, totalThoughts: 2 }, /"nextThoughtNeeded": false/],
  ] },
  playwright: { command: () => npm('playwright-mcp'), args: () => ['--headless', '--isolated', '--no-sandbox', '--executable-path', chromium],
    tools: 15, skip: () => lacks('Chromium', existsSync(chromium)), calls: () => [
      ['browser_navigate', { url: page }, /Deer/],
      ['browser_snapshot', {}, /Deer at dawn/],
      ['browser_evaluate', { function: '() => document.querySelector("button").click()' }, /undefined|Result|Ran/i],
      ['browser_snapshot', {}, /Counted/],
      ['browser_take_screenshot', {}, /screenshot|image|png|jpe?g/i],
      ['browser_navigate', { url: 'http://127.0.0.1:1/' }, /ERR_|error/i],
      ['browser_close', {}, /./],
    ] },
  fetch: { command: () => pypi('mcp-server-fetch'), args: () => ['--allow-private-ips'], tools: 1, calls: () => [
    ['fetch', { url: page, raw: false }, /Seven deer/],
    ['fetch', { url: 'http://127.0.0.1:1/' }, /Failed|error/i],
  ] },
  time: { command: () => pypi('mcp-server-time'), args: () => ['--local-timezone', 'Europe/Berlin'], tools: 2, calls: () => [
    ['get_current_time', { timezone: 'Asia/Tokyo' }, /\+09:00/],
    ['convert_time', { source_timezone: 'Europe/Berlin', time: '12:00', target_timezone: 'Asia/Tokyo' }, /19:00|20:00/],
    ['get_current_time', { timezone: 'Moon/Base' }, /Moon\/Base/],
  ] },
  git: { command: () => pypi('mcp-server-git'), tools: 8, calls: () => [
    ['git_status', { repo_path: repo }, /notes\.txt/],
    ['git_log', { repo_path: repo, max_count: 3 }, /Count the deer/],
    ['git_diff_unstaged', { repo_path: repo }, /eight deer/],
    ['git_show', { repo_path: repo, revision: 'HEAD' }, /seven deer/],
    ['git_status', { repo_path: '/nowhere' }, /nowhere|error/i],
  ] },
};

const json = async (path, method = 'GET', body) => {
  const res = await fetch(fawn.base + path, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
  const text = await res.text();
  assert.ok(res.ok, `${method} ${path}: ${res.status} ${text}`);
  return JSON.parse(text);
};

for (const [name, server] of Object.entries(servers)) {
  test(`${name} as it is published`, { timeout: 240_000 }, async (t) => {
    const command = server.command();
    const why = server.skip?.() || (!existsSync(command) && lacks(`${command}`, false));
    if (why) return t.skip(why);
    await json('/api/mcp/config', 'PUT', { mcp_servers: { [name]: { type: 'stdio', command, args: server.args?.() ?? [], env: server.env?.() ?? {}, enabled: true } } });
    const status = await until(name + ' is connected', async () => {
      const one = (await json('/api/mcp/status')).servers.find((s) => s.name === name);
      assert.notEqual(one?.state, 'failed', JSON.stringify(one));
      return one?.state === 'ready' && one;
    });
    t.diagnostic(JSON.stringify({ tools: status.tools?.length, left_out: status.left_out, problems: status.problems }));
    const calls = server.calls();
    // one run has one call for each turn, as an agent makes them
    const turns = calls.map(([tool, args]) => ({ tool_calls: [{ name: `${name}_${tool}`, args }] }));
    const input = { messages: [{ type: 'human', content: scripted(...turns, { text: 'All done.' }) }] };
    const state = await json(`/threads/${name}/runs/wait`, 'POST', { assistant_id: 'lead_agent', input, if_not_exists: 'create' });
    assert.equal(state.messages.at(-1).content, 'All done.');
    const results = state.messages.filter((m) => m.type === 'tool');
    assert.equal(results.length, calls.length);
    for (const [i, [tool, args, words]] of calls.entries()) {
      const said = typeof results[i].content === 'string' ? results[i].content : JSON.stringify(results[i].content);
      assert.match(said, words, `${name}_${tool} ${JSON.stringify(args)}`);
    }
    const offered = await fawn.script.requests();
    const last = offered.at(-1);
    const tools = (last.tools ?? last.body?.tools ?? []).map((one) => one.function.name).filter((n) => n.startsWith(name + '_'));
    assert.ok(tools.length >= server.tools, `${tools.length} tools of ${name} are offered: ${tools}`);
    server.check?.();
  });
}

// The newest mcp-server-sqlite was written for an older SDK than it asks for, and ends with an exception.
test('a published server that dies at its start says why', { timeout: 120_000 }, async (t) => {
  const command = pypi('mcp-server-sqlite');
  const why = !existsSync(command) && lacks(command, false);
  if (why) return t.skip(why);
  await json('/api/mcp/config', 'PUT', { mcp_servers: { sqlite: { type: 'stdio', command, args: ['--db-path', join(fawn.dir, 'deer.db')], enabled: true } } });
  const status = await until('sqlite has failed', async () => {
    const one = (await json('/api/mcp/status')).servers.find((s) => s.name === 'sqlite');
    return one?.state === 'failed' && one;
  }, 90_000);
  assert.match(JSON.stringify(status), /has no attribute 'list_resources'/);
});
