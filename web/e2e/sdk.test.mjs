// The official JavaScript SDK, an old and a new release, against the real
// binary: what its users do every day.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client as Client1 } from 'langgraph-sdk-1';
import { Client as Client2 } from 'langgraph-sdk-2';
import { gate, held, scripted, start, until, words } from './harness.mjs';

const agent = 'lead_agent';
const human = (content) => ({ messages: [{ type: 'human', content }] });
let fawn;
before(async () => { fawn = await start({ shared: true }); });
after(() => fawn?.stop());

const collect = async (stream) => {
  const events = [];
  for await (const e of stream) events.push(e);
  return events;
};
const named = (events, name) => events.filter((e) => e.event === name).map((e) => e.data);
const chunks = (events) => named(events, 'messages').map(([m]) => m).filter((m) => /^ai/i.test(m.type));
const status = (code) => (err) => err.status === code || new RegExp(`\\b${code}\\b`).test(err.message);

const all = [['2.0.0', Client2, ''], ['2.0.0', Client2, '/api/langgraph'], ['1.6.0', Client1, '/api/langgraph'], ['1.6.0', Client1, '/api']];
for (const [release, Client, mount] of gate ? all.slice(0, 1) : all) {
  describe(`SDK ${release} at ${mount || '/'}`, () => {
    let client;
    before(() => { client = new Client({ apiUrl: fawn.base + mount, apiKey: null, callerOptions: { maxRetries: 0 } }); });

    test('finds the assistant', async () => {
      const found = await client.assistants.search({ graphId: agent });
      assert.ok(found.length >= 1 && found[0].graph_id === agent);
      const one = await client.assistants.get(found[0].assistant_id);
      assert.equal(one.assistant_id, found[0].assistant_id);
      assert.ok(await client.assistants.getSchemas(found[0].assistant_id));
      assert.ok((await client.assistants.getGraph(found[0].assistant_id)).nodes.length > 0);
    });

    test('streams a run in all three modes', async () => {
      const thread = await client.threads.create({ metadata: { purpose: 'stream' } });
      let created;
      const events = await collect(client.runs.stream(thread.thread_id, agent, {
        input: human(words(25)), streamMode: ['messages-tuple', 'values', 'updates'], onRunCreated: (r) => { created = r; },
      }));
      assert.equal(events[0].event, 'metadata');
      assert.equal(created?.run_id, events[0].data.run_id);
      assert.deepEqual(named(events, 'error'), []);
      const parts = chunks(events), text = parts.map((m) => m.content).join('');
      assert.equal(text, 'lorem '.repeat(25));
      assert.equal(new Set(parts.map((m) => m.id)).size, 1);
      const values = named(events, 'values').at(-1);
      assert.deepEqual(values.messages.map((m) => m.type), ['human', 'ai']);
      assert.equal(values.messages[1].id, parts[0].id);
      assert.equal(values.messages[1].content, text);
      assert.ok(named(events, 'updates').length >= 1);
      const usage = parts.map((m) => m.usage_metadata).filter(Boolean);
      assert.equal(usage.reduce((n, u) => n + u.output_tokens, 0), 25);
    });

    test('runs a tool and keeps its result', async () => {
      const thread = await client.threads.create();
      const values = await client.runs.wait(thread.thread_id, agent, { input: human(scripted(
        { tool_calls: [{ name: 'write_file', args: { description: 'Write a note', path: '/mnt/user-data/outputs/note.txt', content: 'hello' } }] },
        { tool_calls: [{ name: 'read_file', args: { description: 'Read it', path: '/mnt/user-data/outputs/note.txt' } }] },
        { text: 'It says hello.' })) });
      assert.deepEqual(values.messages.map((m) => m.type), ['human', 'ai', 'tool', 'ai', 'tool', 'ai']);
      assert.match(values.messages[4].content, /hello/);
      assert.equal(values.messages[2].tool_call_id, values.messages[1].tool_calls[0].id);
      const file = await fetch(`${fawn.base}/api/threads/${thread.thread_id}/artifacts/mnt/user-data/outputs/note.txt`);
      assert.equal(await file.text(), 'hello');
    });

    test('waits, continues the conversation, and reads state and history', async () => {
      const { thread_id: id } = await client.threads.create();
      await client.runs.wait(id, agent, { input: human(words(3)) });
      const values = await client.runs.wait(id, agent, { input: human(words(4)) });
      assert.equal(values.messages.length, 4);
      const state = await client.threads.getState(id);
      assert.equal(state.values.messages.length, 4);
      assert.deepEqual(state.next, []);
      const history = await client.threads.getHistory(id, { limit: 50 });
      const ids = history.map((h) => h.checkpoint.checkpoint_id);
      assert.equal(ids[0], state.checkpoint.checkpoint_id);
      assert.deepEqual(ids, [...ids].sort().reverse(), 'newest first, sorted by id');
      assert.equal(new Set(ids).size, ids.length);
      const old = await client.threads.getState(id, history.at(-1).checkpoint.checkpoint_id);
      assert.equal(old.checkpoint.checkpoint_id, ids.at(-1));
      const runs = await client.runs.list(id);
      assert.equal(runs.length, 2);
      assert.ok(runs.every((r) => r.status === 'success'));
    });

    test('joins a running stream and resumes after the last event it saw', async () => {
      const { thread_id: id } = await client.threads.create();
      const run = await client.runs.create(id, agent, { input: human(words(60, 50)), streamMode: ['messages-tuple', 'values'] });
      const seen = [];
      for await (const e of client.runs.joinStream(id, run.run_id, { lastEventId: '-1' })) {
        seen.push(e);
        if (chunks(seen).length >= 20) break;
      }
      const rest = await collect(client.runs.joinStream(id, run.run_id, { lastEventId: seen.at(-1).id }));
      const all = [...seen, ...rest];
      assert.equal(chunks(all).map((m) => m.content).join(''), 'lorem '.repeat(60), 'nothing twice, nothing missing');
      const ids = all.map((e) => e.id).filter((x) => x != null);
      assert.equal(new Set(ids).size, ids.length);
      const again = await collect(client.runs.joinStream(id, run.run_id, { lastEventId: '-1' }));
      assert.equal(chunks(again).map((m) => m.content).join(''), 'lorem '.repeat(60), 'a finished run can be read again');
      const joined = await client.runs.join(id, run.run_id);
      assert.equal(joined.messages.length, 2);
    });

    test('cancels a run and keeps what was said', async () => {
      const { thread_id: id } = await client.threads.create();
      const run = await client.runs.create(id, agent, { input: human(words(3000, 100)) });
      for await (const e of client.runs.joinStream(id, run.run_id, { lastEventId: '-1', streamMode: ['messages-tuple'] })) {
        if (chunks([e]).length) break; // it has said something
      }
      await client.runs.cancel(id, run.run_id, true);
      assert.equal((await client.runs.get(id, run.run_id)).status, 'interrupted');
      const state = await client.threads.getState(id);
      const last = state.values.messages.at(-1);
      assert.equal(last.type, 'ai');
      assert.ok(last.content.length > 0 && last.content.length < 3000 * 6);
      const values = await client.runs.wait(id, agent, { input: human(words(2)) });
      assert.equal(values.messages.at(-1).content, 'lorem lorem ');
    });

    test('updates state, forks an old checkpoint and runs from it', async () => {
      const { thread_id: id } = await client.threads.create();
      await client.runs.wait(id, agent, { input: human(words(3)) });
      const first = await client.threads.getState(id);
      await client.runs.wait(id, agent, { input: human(words(4)) });
      await client.threads.updateState(id, { values: { title: 'My own title' } });
      assert.equal((await client.threads.getState(id)).values.title, 'My own title');
      const values = await client.runs.wait(id, agent, { input: human(words(5)), checkpointId: first.checkpoint.checkpoint_id });
      assert.equal(values.messages.length, 4);
      assert.equal(values.messages.at(-1).content, 'lorem '.repeat(5));
    });

    test('a second run waits its turn or is refused, as asked', async () => {
      const { thread_id: id } = await client.threads.create();
      const gate = `turn${release}${mount}`.replaceAll(/[./]/g, '-');
      const one = await client.runs.create(id, agent, { input: human(held(gate, 5)) });
      await assert.rejects(client.runs.create(id, agent, { input: human(words(1)), multitaskStrategy: 'reject' }), status(409));
      const two = await client.runs.create(id, agent, { input: human(words(2)), multitaskStrategy: 'enqueue' });
      await fawn.script.open(gate);
      const values = await client.runs.join(id, two.run_id);
      assert.equal(values.messages.length, 4);
      assert.equal((await client.runs.get(id, one.run_id)).status, 'success');
    });

    test('a failing model ends the stream with an error, not with silence', async () => {
      const { thread_id: id } = await client.threads.create();
      const events = await collect(client.runs.stream(id, agent, {
        input: human(scripted({ error: { status: 401, message: 'Incorrect API key provided' } })), streamMode: ['values', 'messages-tuple'] })).catch((e) => [{ event: 'error', data: e.message }]);
      assert.match(JSON.stringify(events), /Incorrect API key provided/);
      const values = await client.runs.wait(id, agent, { input: human(words(2)) });
      assert.equal(values.messages.at(-1).content, 'lorem lorem ');
    });

    test('searches, patches and deletes threads; unknown things are 404', async () => {
      const mark = `${release}${mount}-${process.pid}`;
      const made = await Promise.all([1, 2, 3].map((n) => client.threads.create({ metadata: { mark, n } })));
      const found = await client.threads.search({ metadata: { mark }, limit: 10 });
      assert.equal(found.length, 3);
      assert.equal((await client.threads.search({ metadata: { mark }, limit: 2, offset: 2 })).length, 1);
      await client.threads.update(made[0].thread_id, { metadata: { extra: true } });
      assert.deepEqual((await client.threads.get(made[0].thread_id)).metadata.extra, true);
      await assert.rejects(client.runs.get(made[0].thread_id, '0199d1f0-0000-7000-8000-000000000000'), status(404));
      for (const t of made) await client.threads.delete(t.thread_id);
      await assert.rejects(client.threads.get(made[0].thread_id), status(404));
      assert.equal((await client.threads.search({ metadata: { mark } })).length, 0);
    });

    test('a stateless run streams and waits, and leaves no thread where LangGraph leaves none', async () => {
      const mark = `stateless${release}${mount}`; // others may use the server at the same time
      const left = async () => {
        const threads = await new Client2({ apiUrl: fawn.base, apiKey: null }).threads.search({ limit: 1000 });
        return threads.filter((thread) => JSON.stringify(thread.values).includes(mark)).length;
      };
      const events = await collect(client.runs.stream(null, agent, { input: human(`${words(3)} ${mark}`), streamMode: 'values' }));
      assert.equal(named(events, 'values').at(-1).messages.length, 2);
      const values = await client.runs.wait(null, agent, { input: human(`${words(2)} ${mark}`) });
      assert.equal(values.messages.length, 2);
      const kept = mount === '/api' ? 2 : 0;
      await until('the threads are gone', async () => await left() === kept);
    });
  });
}

test('bad requests are told apart', async () => {
  const post = (path, body) => fetch(fawn.base + path, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
  const { thread_id: id } = await post('/threads', '{}').then((r) => r.json());
  assert.equal((await post('/threads', '{broken')).status, 422);
  assert.equal((await post(`/threads/${id}/runs/stream`, JSON.stringify({ assistant_id: agent, input: human('x'), stream_mode: 'nonsense' }))).status, 422);
  assert.equal((await post(`/threads/${id}/runs`, JSON.stringify({ assistant_id: 'nobody', input: human('x') }))).status, 404);
  assert.equal((await post('/threads', JSON.stringify({ thread_id: id }))).status, 409);
  const cross = await fetch(fawn.base + '/threads', { method: 'POST', headers: { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' } });
  assert.equal(cross.status, 403);
});
