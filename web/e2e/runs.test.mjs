// Run options of the official JavaScript SDKs against the real binary: commands,
// breakpoints, every stream mode, delayed runs, webhooks, copies and branches.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { Client as Client12 } from 'langgraph-sdk-12';
import { Client as Client2 } from 'langgraph-sdk-2';
import { scripted, start, until, words } from './harness.mjs';

const agent = 'lead_agent';
const human = (content) => ({ messages: [{ type: 'human', content }] });
const tool = (name, args) => ({ tool_calls: [{ name, args }] });
const note = { description: 'Write a note', path: '/mnt/user-data/outputs/note.txt', content: 'hello' };
const question = { question: 'Which colour?', clarification_type: 'approach_choice', options: ['Blue', 'Red'] };

let fawn;
before(async () => { fawn = await start({ config: 'webhooks: {allow_private: [127.0.0.1]}\n' }); });
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

    test('breakpoints stop before and after nodes', async () => {
      const id = await thread();
      const events = await collect(client.runs.stream(id, agent, {
        input: human(scripted(tool('write_file', note), { text: 'Done.' })), interruptBefore: ['tools'], streamMode: ['values', 'updates'],
      }));
      assert.deepEqual(named(events, 'updates').at(-1), { __interrupt__: [] });
      assert.deepEqual(named(events, 'values').at(-1).__interrupt__, []);
      assert.equal(events.at(-1).event, 'end');
      assert.deepEqual((await client.threads.getState(id)).next, ['tools']);
      assert.equal((await client.runs.list(id))[0].status, 'interrupted');
      const half = await client.runs.wait(id, agent, { input: null, interruptAfter: '*' });
      assert.deepEqual(half.messages.map((m) => m.type), ['human', 'ai', 'tool']);
      const whole = await client.runs.wait(id, agent, { input: null });
      assert.equal(whole.messages.at(-1).content, 'Done.');
      assert.equal(whole.__interrupt__, undefined);
    });

    test('commands update the state and go to a node', async () => {
      const id = await thread();
      await client.runs.wait(id, agent, { input: human(words(2)) });
      const ended = await client.runs.wait(id, agent, { command: { update: { title: 'By command' }, goto: '__end__' } });
      assert.equal(ended.title, 'By command');
      assert.equal(ended.messages.length, 2);
      const again = await client.runs.wait(id, agent, { command: { goto: 'model' } });
      assert.equal(again.messages.length, 3);
      await assert.rejects(client.runs.wait(id, agent, { command: { goto: { node: 'tools', input: {} } } }), /422/);
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

    test('a delayed run holds nothing and can be cancelled', async () => {
      const id = await thread();
      const late = await client.runs.create(id, agent, { input: human(words(1)), afterSeconds: 3600 });
      assert.equal(late.status, 'pending');
      const values = await client.runs.wait(id, agent, { input: human(words(2)), multitaskStrategy: 'reject' });
      assert.equal(values.messages.length, 2);
      await client.runs.cancel(id, late.run_id, true);
      assert.equal((await client.runs.get(id, late.run_id)).status, 'interrupted');
      const soon = await client.runs.create(id, agent, { input: human(words(1)), afterSeconds: 0.2 });
      assert.equal((await client.runs.join(id, soon.run_id)).messages.length, 4);
    });

    test('a webhook hears how a run ended', async () => {
      const told = [];
      const hook = http.createServer((req, res) => {
        let body = '';
        req.on('data', (d) => { body += d; });
        req.on('end', () => { told.push(JSON.parse(body)); res.end(); });
      });
      await new Promise((done) => hook.listen(0, '127.0.0.1', done));
      try {
        const id = await thread();
        const run = await client.runs.create(id, agent, { input: human(words(2)), webhook: `http://127.0.0.1:${hook.address().port}/done` });
        await until('the webhook was called', () => told.length === 1);
        assert.equal(told[0].run_id, run.run_id);
        assert.equal(told[0].status, 'success');
        assert.equal(told[0].values.messages.length, 2);
      } finally {
        hook.closeAllConnections();
        hook.close();
      }
    });

    test('a copy has the history, and any checkpoint can be gone on from', async () => {
      const id = await thread();
      await client.runs.wait(id, agent, { input: human(words(1)) });
      await client.runs.wait(id, agent, { input: human(words(2)) });
      const history = await client.threads.getHistory(id, { limit: 50 });
      const copy = await client.threads.copy(id);
      assert.notEqual(copy.thread_id, id);
      const copied = (await client.threads.getHistory(copy.thread_id, { limit: 50 })).map((h) => h.checkpoint.checkpoint_id);
      for (const h of history) assert.ok(copied.includes(h.checkpoint.checkpoint_id)); // a title may have come in between
      const first = history.find((h) => h.values.messages.length === 2 && h.next.length === 0);
      const fork = await client.runs.wait(copy.thread_id, agent, { input: human(words(3)), checkpointId: first.checkpoint.checkpoint_id });
      assert.equal(fork.messages.length, 4);
      assert.equal((await client.threads.getState(id)).values.messages.length, 4);
      const branch = await fetch(`${fawn.base}/api/threads/${id}/branches`, {
        method: 'POST', headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message_id: first.values.messages[1].id, title: 'Another way' }),
      }).then((r) => r.json());
      const state = await client.threads.getState(branch.thread_id);
      assert.equal(state.values.messages.length, 2);
      assert.equal(state.values.title, 'Another way');
    });
  });
}
