// Run options of the official JavaScript SDKs against the real binary: answers to questions and every stream mode.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client as Client12 } from 'langgraph-sdk-12';
import { Client as Client2 } from 'langgraph-sdk-2';
import { scripted, start } from './harness.mjs';

const agent = 'lead_agent';
const human = (content) => ({ messages: [{ type: 'human', content }] });
const tool = (name, args) => ({ tool_calls: [{ name, args }] });
const note = { description: 'Write a note', path: '/mnt/user-data/outputs/note.txt', content: 'hello' };
const question = { question: 'Which colour?', clarification_type: 'approach_choice', options: ['Blue', 'Red'] };

let fawn;
before(async () => { fawn = await start(); });
after(() => fawn?.stop());

const collect = async (stream) => {
  const events = [];
  for await (const e of stream) events.push(e);
  return events;
};
const named = (events, name) => events.filter((e) => e.event === name).map((e) => e.data);

for (const [release, Client, mount] of [['1.12', Client12, ''], ['2.0.0', Client2, '/api/langgraph']]) {
  describe(`run options, SDK ${release} at ${mount || '/'}`, () => {
    let client;
    before(() => { client = new Client({ apiUrl: fawn.base + mount, apiKey: null, callerOptions: { maxRetries: 0 } }); });
    const thread = async () => (await client.threads.create()).thread_id;

    test('a question waits, shows in state, and is answered by a command', async () => {
      const id = await thread();
      const asked = await collect(client.runs.stream(id, agent, { input: human(scripted(tool('ask_clarification', question), { text: 'Red it is.' })), streamMode: ['updates', 'values'] }));
      const interrupts = named(asked, 'updates').map((u) => u.__interrupt__).filter(Boolean);
      assert.equal(interrupts.length, 1);
      assert.match(JSON.stringify(interrupts[0][0].value), /Which colour/);
      const state = await client.threads.getState(id);
      assert.deepEqual(state.next, ['__interrupt__']);
      assert.equal(state.tasks[0].interrupts[0].id, interrupts[0][0].id);
      const waiting = await client.threads.get(id);
      assert.equal(waiting.status, 'interrupted');
      assert.deepEqual(Object.keys(waiting.interrupts), [state.tasks[0].id]);
      assert.equal((await client.runs.list(id))[0].status, 'success');

      const values = await client.runs.wait(id, agent, { command: { resume: { [state.tasks[0].interrupts[0].id]: 'Red' } } });
      assert.deepEqual(values.messages.map((m) => m.type), ['human', 'ai', 'tool', 'human', 'ai']);
      assert.equal(values.messages[3].content, 'Red');
      assert.equal(values.messages[4].content, 'Red it is.');
      assert.equal((await client.threads.get(id)).status, 'idle');
    });

    test('a question is answered by updateState and a run without input', async () => {
      const id = await thread();
      await client.runs.wait(id, agent, { input: human(scripted(tool('ask_clarification', question), { text: 'Blue.' })) });
      await client.threads.updateState(id, { values: human('Blue, please'), asNode: 'user' });
      const values = await client.runs.wait(id, agent, { input: null });
      assert.deepEqual(values.messages.map((m) => m.type), ['human', 'ai', 'tool', 'human', 'ai']);
      assert.equal(values.messages[4].content, 'Blue.');
    });

    test('every stream mode tells its part, again after a restart', async () => {
      const id = await thread();
      const modes = ['values', 'updates', 'messages', 'messages-tuple', 'custom', 'tasks', 'checkpoints', 'debug', 'tools', 'events'];
      let run;
      const live = await collect(client.runs.stream(id, agent, {
        input: human(scripted(tool('write_file', note), { text: 'It is written.' })), streamMode: modes, onRunCreated: (r) => { run = r.run_id; },
      }));
      const seen = new Set(live.map((e) => e.event));
      for (const name of ['metadata', 'values', 'updates', 'messages', 'messages/partial', 'messages/complete', 'tasks', 'checkpoints', 'debug', 'tools', 'events', 'end']) {
        assert.ok(seen.has(name), `no ${name} among ${[...seen]}`);
      }
      assert.deepEqual(named(live, 'tools').map((t) => t.event), ['on_tool_start', 'on_tool_end']);
      const checkpoints = named(live, 'checkpoints').map((c) => c.config.configurable.checkpoint_id);
      const history = (await client.threads.getHistory(id, { limit: 50 })).map((h) => h.checkpoint.checkpoint_id).reverse();
      assert.deepEqual(checkpoints, history.slice(0, checkpoints.length));
      if (mount === '') {
        await fawn.kill();
        await fawn.restart();
      }
      const again = await collect(client.runs.joinStream(id, run, { streamMode: modes, lastEventId: '-1' }));
      assert.deepEqual(again.map((e) => [e.id, e.event]), live.map((e) => [e.id, e.event]));
      assert.deepEqual(again, live);
    });
  });
}
