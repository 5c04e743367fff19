// Fawn as an agent of editors, used by the clients of the protocol's official JavaScript packages, the newest and the
// oldest, which start the real binary: a session with files that are not saved, a question, a plan, a stop, and a list.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { after, before, test } from 'node:test';
import * as acp from '@agentclientprotocol/sdk';
import * as old from '@zed-industries/agent-client-protocol';
import { here, scripted, start, until } from './harness.mjs';

const fawnBin = process.env.FAWN_BIN ?? join(here, '..', '..', 'bin', 'fawn');
const dir = mkdtempSync(join(tmpdir(), 'fawn-acp-'));
let fawn;
before(async () => { fawn = await start(); });
after(async () => { await fawn?.stop(); rmSync(dir, { recursive: true, force: true }); });

// newest connects an editor by the package of today, and gives what the old one calls its methods.
const newest = (editor, stream) => {
  const { client, agent } = acp.methods;
  const app = acp.client({ name: 'editor' })
    .onRequest(client.session.requestPermission, ({ params }) => editor.requestPermission(params))
    .onRequest(client.fs.readTextFile, ({ params }) => editor.readTextFile(params))
    .onRequest(client.fs.writeTextFile, ({ params }) => editor.writeTextFile(params))
    .onNotification(client.session.update, ({ params }) => editor.sessionUpdate(params));
  const conn = app.connect(stream);
  const { agent: ctx } = conn;
  const asks = (method) => (params) => ctx.request(method, params);
  return { initialize: asks(agent.initialize), newSession: asks(agent.session.new), loadSession: asks(agent.session.load),
    listSessions: asks(agent.session.list), setSessionMode: asks(agent.session.setMode), prompt: asks(agent.session.prompt),
    cancel: (params) => ctx.notify(agent.session.cancel, params) };
};
const oldest = (editor, stream) => new old.ClientSideConnection(() => editor, stream);

for (const [name, connect] of Object.entries({ newest, oldest })) {
  test(`an editor with the ${name} package works with an agent`, async () => {
    const file = join(dir, name + '.txt');
    writeFileSync(file, 'saved');
    const buffers = { [file]: 'not saved' };
    const updates = [], asked = [];
    const child = spawn(fawnBin, ['acp', '--server', fawn.base], { stdio: ['pipe', 'pipe', 'inherit'] });
    const editor = {
      sessionUpdate: async ({ update }) => { updates.push(update); },
      requestPermission: async ({ options, toolCall }) => {
        asked.push(toolCall);
        return { outcome: { outcome: 'selected', optionId: options.find((o) => o.kind === 'allow_once').optionId } };
      },
      readTextFile: async ({ path }) => ({ content: buffers[path] ?? readFileSync(path, 'utf8') }),
      writeTextFile: async ({ path, content }) => { buffers[path] = content; return {}; },
    };
    const { ndJsonStream } = name === 'newest' ? acp : old;
    const conn = connect(editor, ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
    const said = () => updates.filter((u) => u.sessionUpdate === 'agent_message_chunk').map((u) => u.content.text ?? '').join('');
    try {
      const hello = await conn.initialize({ protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } } });
      assert.equal(hello.protocolVersion, 1);
      assert.equal(hello.agentCapabilities.loadSession, true);
      const { sessionId, modes } = await conn.newSession({ cwd: dir, mcpServers: [] });
      assert.deepEqual(modes.availableModes.map((m) => m.id), ['ask', 'accept_edits', 'read_only']);
      const end = await conn.prompt({ sessionId, prompt: [{ type: 'text', text: scripted(
        { reasoning: 'Let me see.', text: 'I read it.', tool_calls: [{ name: 'editor_read_file', args: { path: file } }] },
        { tool_calls: [{ name: 'editor_edit_file', args: { path: file, old_text: 'not saved', new_text: 'changed' } }] },
        { text: 'Changed.' }) }] });
      assert.equal(end.stopReason, 'end_turn');
      assert.equal(said(), 'I read it.\n\nChanged.');
      assert.equal(buffers[file], 'changed');
      assert.equal(readFileSync(file, 'utf8'), 'saved');
      assert.equal(asked.length, 1);
      assert.equal(updates.filter((u) => u.sessionUpdate === 'agent_thought_chunk').map((u) => u.content.text).join(''), 'Let me see.');
      const calls = updates.filter((u) => u.sessionUpdate === 'tool_call');
      assert.deepEqual(calls.map((c) => [c.kind, c.locations[0].path]), [['read', file], ['edit', file]]);
      for (const { toolCallId } of calls) {
        assert.ok(updates.some((u) => u.sessionUpdate === 'tool_call_update' && u.toolCallId === toolCallId && u.status === 'completed'));
      }

      await conn.setSessionMode({ sessionId, modeId: 'read_only' });
      updates.length = 0;
      const long = conn.prompt({ sessionId, prompt: [{ type: 'text', text: scripted({ text: 'so far', chunk: 2, hang: true }) }] });
      await until('the answer begins', () => said() === 'so far');
      await conn.cancel({ sessionId });
      assert.equal((await long).stopReason, 'cancelled');

      updates.length = 0;
      await conn.loadSession({ sessionId, cwd: dir, mcpServers: [] });
      await until('the past is told', () => said().endsWith('so far'));
      assert.ok(updates.some((u) => u.sessionUpdate === 'user_message_chunk'));
      if (conn.listSessions) {
        const { sessions } = await conn.listSessions({ cwd: dir });
        assert.ok(sessions.some((s) => s.sessionId === sessionId));
      }
      await assert.rejects(conn.prompt({ sessionId: 'none', prompt: [{ type: 'text', text: 'x' }] }));
    } finally {
      child.stdin.end();
      const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
      assert.equal(code, 0);
    }
  });
}
