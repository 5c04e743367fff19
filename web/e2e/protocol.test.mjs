// The thread protocol through the clients that speak it: threads.stream() of the
// SDK's newest release and of one before it, against the real binary, as streams of
// events and over WebSockets.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import WebSocket from 'ws';
import { Client as Client12 } from 'langgraph-sdk-12';
import { Client as Client15 } from 'langgraph-sdk-15';
import { scripted, start, words } from './harness.mjs';

const human = (content) => ({ messages: [{ type: 'human', content }] });
let fawn;
before(async () => { fawn = await start(); });
after(() => fawn?.stop());

const releases = [['1.12.4', Client12], ['1.15.0', Client15]];
const ways = [['', 'sse'], ['/api/langgraph', 'sse'], ['/api', 'sse'], ['', 'websocket']];
for (const [release, Client, mount, transport] of releases.flatMap((r) => ways.map((way) => [...r, ...way]))) {
  describe(`threads.stream() of ${release} at ${mount || '/'}, by ${transport}`, () => {
    let client;
    before(() => { client = new Client({ apiUrl: fawn.base + mount, apiKey: null, callerOptions: { maxRetries: 0 } }); });
    const follow = (id) => client.threads.stream(id, { assistantId: 'lead_agent', transport, webSocketFactory: (url) => new WebSocket(url) });
    const open = () => follow(crypto.randomUUID());

    test('streams messages of a new thread, and its state', async () => {
      const thread = open(), gate = `messages-${release}${mount}${transport}`.replaceAll('/', '-');
      const { run_id: run } = await thread.run.start({ input: human(scripted({ text: 'lorem '.repeat(5), gate, tokens: 20 })) });
      const texts = [];
      for await (const message of thread.messages) {
        let text = '';
        for await (const piece of message.text) {
          text += piece;
          if (text.length === 30) await fawn.script.open(gate); // all is subscribed by now
        }
        texts.push(text);
        assert.ok((await message.usage).output_tokens > 20);
      }
      assert.deepEqual(texts, ['lorem '.repeat(25)]);
      const values = await thread.output;
      assert.deepEqual(values.messages.map((m) => m.getType()), ['human', 'ai']);
      assert.equal((await client.runs.get(thread.threadId, run)).status, 'success');
      assert.equal((await thread.state.get({ namespace: [] })).values.messages.length, 2);
      await thread.close();
    });

    test('tells tool calls with their results', async () => {
      const thread = open(), gate = `tools-${release}${mount}${transport}`.replaceAll('/', '-');
      await thread.run.start({ input: human(scripted(
        { tool_calls: [{ name: 'write_file', args: { description: 'Write a note', path: '/mnt/user-data/outputs/note.txt', content: 'hello' } }] },
        { tool_calls: [{ name: 'read_file', args: { description: 'Read it', path: '/mnt/user-data/outputs/note.txt' } }] },
        { text: 'It says', gate, tokens: 1 })) });
      const calls = new Map();
      for await (const call of thread.toolCalls) {
        calls.set(call.callId, { name: call.name, output: await call.output });
        if (calls.size === 2) await fawn.script.open(gate);
      }
      assert.deepEqual([...calls.values()].map((c) => c.name), ['write_file', 'read_file']);
      assert.match(String([...calls.values()][1].output), /hello/);
      await thread.close();
    });

    test('is interrupted by a question and resumed by its answer', async () => {
      const thread = open();
      await thread.run.start({ input: human(scripted(
        { tool_calls: [{ name: 'ask_clarification', args: { question: 'Which colour?', clarification_type: 'missing_info' } }] }, { text: 'Blue it is.' })) });
      await thread.output;
      assert.equal(thread.interrupted, true);
      assert.equal(thread.interrupts.length, 1);
      const [{ interruptId, payload }] = thread.interrupts;
      assert.match(JSON.stringify(payload), /Which colour/);
      await client.threads.updateState(thread.threadId, { values: { title: 'Colours' } });
      await assert.rejects(thread.input.respond({ namespace: [], interrupt_id: '0'.repeat(32), response: 'red' }),
        (e) => e.code === 'no_such_interrupt' && e.message.includes(interruptId));
      await thread.input.respond({ namespace: [], interrupt_id: interruptId, response: 'blue' });
      const [run] = await client.runs.list(thread.threadId);
      const values = await client.runs.join(thread.threadId, run.run_id);
      assert.equal(values.messages.at(-1).content, 'Blue it is.');
      await thread.close();
    });

    test('forks a checkpoint', async () => {
      const thread = open();
      await thread.run.start({ input: human(words(3)) });
      await thread.output;
      const { checkpoints } = await thread.state.listCheckpoints({ namespace: [], limit: 50 });
      const fork = follow(thread.threadId);
      await fork.run.start({ input: human(words(4)), forkFrom: checkpoints.at(-1).id });
      const values = await fork.output;
      assert.equal(values.messages.at(-1).content, 'lorem '.repeat(4));
      assert.ok(!values.messages.some((m) => m.content === 'lorem '.repeat(3)), 'the first answer is on the other branch');
      await thread.close();
      await fork.close();
    });

    test('refuses in the words of the protocol', async () => {
      const thread = open();
      await assert.rejects(thread.input.respond({ namespace: [], interrupt_id: 'x', response: 'y' }), (e) => e.code === 'no_such_run');
      await assert.rejects(thread.state.fork({ checkpoint_id: 'nope' }), (e) => e.code === 'no_such_checkpoint');
      await thread.close();
    });
  });
}
