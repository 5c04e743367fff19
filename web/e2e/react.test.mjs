// useStream of every release people have, in a browser without a screen, against
// the real binary: a new thread, a tool, a second branch, stop, a question, and
// coming back to a run.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mount, settled } from './react.mjs';
import { scripted, start, until, words } from './harness.mjs';

const { useStream: use0 } = await import('langgraph-sdk-0/react');
const { useStream: use1 } = await import('langgraph-sdk-1/react');
const { useStream: use12 } = await import('langgraph-sdk-12/react');
const { useStream: use15 } = await import('langgraph-sdk-15/react');
const { useStream: use2 } = await import('langgraph-sdk-2/react');
const { useStream: useV2, useChannelEffect } = await import('@langchain/react');

const human = (content) => ({ messages: [{ type: 'human', content }] });
const lorem = (n) => 'ai: ' + 'lorem '.repeat(n);
const noted = scripted({ tool_calls: [{ name: 'write_file', args: { description: 'Write a note', path: '/mnt/user-data/outputs/note.txt', content: 'hello' } }] }, { text: 'It is written.' });
const asking = scripted({ tool_calls: [{ name: 'ask_clarification', args: { question: 'Which colour?', clarification_type: 'missing_info' } }] }, { text: 'Blue it is.' });

const helped = scripted({ tool_calls: [{ name: 'task', args: { description: 'Look', subagent_type: 'general-purpose',
  prompt: scripted({ tool_calls: [{ name: 'ls', args: { description: 'look', path: '/mnt/user-data/workspace' } }] }, { text: 'Nothing there.' }) } }] }, { text: 'So it is.' });

// checkTold checks what a client was told of the helper, as DeerFlow tells it.
const checkTold = (told) => {
  assert.deepEqual(told.map((e) => e.type), ['task_started', 'task_running', 'task_running', 'task_running', 'task_completed']);
  const task_id = told[0].task_id;
  assert.deepEqual(told[0], { type: 'task_started', task_id, description: 'Look', model_name: 'script' });
  told.slice(1, 4).forEach(({ usage, message, ...e }, i) => {
    assert.deepEqual(e, { type: 'task_running', task_id, message_index: i + 1, total_messages: i + 1, model_name: 'script' });
    assert.equal(message.type, ['ai', 'tool', 'ai'][i]);
    assert.ok(usage.total_tokens > 0);
  });
  assert.deepEqual(told[4], { type: 'task_completed', task_id, result: 'Nothing there.', usage: told[3].usage, model_name: 'script' });
  return task_id;
};

// held says a few words, and the rest when its gate is opened.
const held = (gate) => scripted({ text: 'lorem '.repeat(10), gate, tokens: 40 });

let fawn;
before(async () => { fawn = await start(); });
after(() => fawn?.stop());

const status = async (thread) => (await fetch(`${fawn.base}/threads/${thread}`).then((r) => r.json())).status;
const runs = (thread) => fetch(`${fawn.base}/threads/${thread}/runs`).then((r) => r.json());

// neverDoubled: no render showed a message twice or more text than there is.
const neverDoubled = (page, answer) => {
  for (const list of page.shown) {
    const answers = list.filter((l) => l.startsWith('ai: '));
    assert.ok(answers.every((a) => answer.startsWith(a)), `shown: ${JSON.stringify(answers)}`);
    assert.ok(answers.length <= 1, `${answers.length} answers were shown at once`);
  }
};

for (const [release, useStream, mounted] of [['0.1.10', use0, '/api/langgraph'], ['1.6.0', use1, '/api/langgraph'], ['1.12.4', use12, ''], ['1.15.0', use15, '/api/langgraph'], ['2.0.0', use2, '/api']]) {
  describe(`useStream ${release} at ${mounted || '/'}`, () => {
    let options;
    before(() => { options = { apiUrl: fawn.base + mounted, assistantId: 'lead_agent', messagesKey: 'messages', fetchStateHistory: true, callerOptions: { maxRetries: 0 } }; });

    test('a new thread, without a word twice', async () => {
      const page = mount(useStream, options);
      await settled('mounted', page, () => true);
      page.stream.submit(human(words(40, 400)));
      await settled('the answer', page, () => page.lines().length === 2 && page.lines()[1] === lorem(40));
      neverDoubled(page, lorem(40));
      assert.ok(page.thread);
      assert.deepEqual(page.errors, []);
      page.unmount();
      const again = mount(useStream, options, page.thread);
      await settled('the same after coming back', again, () => again.lines()[1] === lorem(40) && again.lines().length === 2);
      again.unmount();
    });

    test('a turn with a tool', async () => {
      const page = mount(useStream, options);
      await settled('mounted', page, () => true);
      page.stream.submit(human(noted));
      await settled('the answer', page, () => page.lines().length === 4 && page.lines()[3] === 'ai: It is written.');
      assert.deepEqual(page.lines().map((l) => l.split(':')[0]), ['human', 'ai', 'tool', 'ai']);
      page.unmount();
    });

    test('another answer is a branch beside the first', async () => {
      const page = mount(useStream, options);
      await settled('mounted', page, () => true);
      page.stream.submit(human(words(5)));
      await settled('the answer', page, () => page.lines()[1] === lorem(5) && page.stream.history?.length > 0 && page.stream.getMessagesMetadata(page.stream.messages[1])?.firstSeenState);
      const first = page.stream.messages[1];
      const base = page.stream.getMessagesMetadata(first).firstSeenState.parent_checkpoint;
      assert.ok(base);
      page.stream.submit(undefined, { checkpoint: base });
      await settled('the second answer', page, () => page.lines().length === 2 && page.lines()[1] === lorem(5) && page.stream.messages[1].id !== first.id &&
        page.stream.getMessagesMetadata(page.stream.messages[1])?.branchOptions?.length === 2);
      const { branch, branchOptions } = page.stream.getMessagesMetadata(page.stream.messages[1]);
      page.stream.setBranch(branchOptions.find((b) => b !== branch));
      await settled('the first one again', page, () => page.stream.messages[1]?.id === first.id && page.lines().length === 2);
      page.unmount();
    });

    test('stop ends the run and keeps what was said', async () => {
      const page = mount(useStream, options);
      await settled('mounted', page, () => true);
      page.stream.submit(human(held(`${release}-stop`)));
      await until('the first words', () => page.lines()[1] === lorem(10));
      await page.stream.stop();
      await until('the run has ended', async () => await status(page.thread) !== 'busy');
      assert.equal((await runs(page.thread))[0].status, 'interrupted');
      page.unmount();
      const again = mount(useStream, options, page.thread);
      await settled('the part that was said', again, () => again.lines()[1] === lorem(10));
      again.unmount();
    });

    test('a question waits for its answer', async () => {
      const page = mount(useStream, options);
      await settled('mounted', page, () => true);
      page.stream.submit(human(asking));
      await settled('the question', page, () => page.lines().length === 3 && page.lines()[2].includes('Which colour?'));
      assert.ok(page.stream.interrupt, 'there is an interrupt');
      page.stream.submit(undefined, { command: { resume: 'blue' } });
      await settled('the answer', page, () => page.lines().at(-1) === 'ai: Blue it is.');
      assert.deepEqual(page.lines().map((l) => l.split(':')[0]), ['human', 'ai', 'tool', 'human', 'ai']);
      assert.ok(!page.stream.interrupt, 'the interrupt is gone');
      assert.equal(await status(page.thread), 'idle');
      page.unmount();
    });

    for (const streamSubgraphs of [false, true]) test(`a helper tells of its work, ${streamSubgraphs ? 'and its frames come too' : 'without its frames'}`, async () => {
      const told = [], inside = new Set();
      const onCustomEvent = (data, { namespace }) => { told.push(data); assert.ok(!namespace?.length, `it stands in ${namespace}`); };
      const onUpdateEvent = (_, { namespace }) => { if (namespace?.length) inside.add(namespace.join('|')); };
      const page = mount(useStream, { ...options, onCustomEvent, onUpdateEvent });
      await settled('mounted', page, () => true);
      page.stream.submit(human(helped), { streamSubgraphs, context: { subagent_enabled: true } });
      await settled('the answer', page, () => page.lines().at(-1) === 'ai: So it is.' && page.lines().length === 4);
      const call = checkTold(told);
      assert.deepEqual([...inside], streamSubgraphs ? [`tools:${call}`] : []);
      assert.deepEqual(page.errors, []);
      page.unmount();
    });

    test('a run goes on while nobody looks, and is found again', async () => {
      const page = mount(useStream, { ...options, reconnectOnMount: true });
      await settled('mounted', page, () => true);
      const gate = `${release}-again`;
      page.stream.submit(human(held(gate)));
      await until('the first words', () => page.lines()[1] === lorem(10));
      page.unmount();
      assert.equal(await status(page.thread), 'busy');
      const again = mount(useStream, { ...options, reconnectOnMount: true }, page.thread);
      await until('it is followed', () => again.stream?.isLoading && again.lines()[1] === lorem(10));
      await fawn.script.open(gate);
      await settled('the whole answer', again, () => again.lines().length === 2 && again.lines()[1] === lorem(50));
      neverDoubled(again, lorem(50));
      again.unmount();
    });
  });
}

for (const mounted of ['', '/api/langgraph']) describe(`useStream of @langchain/react 1.1.0 at ${mounted || '/'}`, () => {
  let options;
  before(() => { options = { apiUrl: fawn.base + mounted, assistantId: 'lead_agent' }; });
  const ready = (page) => settled('mounted', page, () => !page.stream.isThreadLoading);

  test('a new thread, a second turn, and coming back', async () => {
    const page = mount(useV2, options);
    await ready(page);
    page.stream.submit(human(words(40, 400)));
    await settled('the answer', page, () => page.lines().length === 2 && page.lines()[1] === lorem(40));
    neverDoubled(page, lorem(40));
    page.stream.submit(human(words(3)));
    await settled('the second answer', page, () => page.lines().length === 4 && page.lines()[3] === lorem(3));
    assert.equal(page.stream.error, undefined);
    page.unmount();
    const again = mount(useV2, options, page.thread);
    await settled('all of it', again, () => again.lines().length === 4 && again.lines()[3] === lorem(3));
    again.unmount();
  });

  test('a turn with a tool', async () => {
    const page = mount(useV2, options);
    await ready(page);
    page.stream.submit(human(noted));
    await settled('the answer', page, () => page.lines().length === 4 && page.lines()[3] === 'ai: It is written.');
    assert.deepEqual(page.lines().map((l) => l.split(':')[0]), ['human', 'ai', 'tool', 'ai']);
    assert.equal(page.stream.toolCalls.length, 1);
    assert.equal(page.stream.toolCalls[0].status, 'finished');
    assert.equal(page.stream.toolCalls[0].name, 'write_file');
    page.unmount();
  });

  test('a helper tells of its work', async () => {
    const told = [];
    const page = mount(useV2, { ...options, hook: (stream) => useChannelEffect(stream, ['custom'], { onEvent: (e) => { if (e.method === 'custom') told.push(e.params.data.payload ?? e.params.data); } }) });
    await ready(page);
    page.stream.submit(human(helped), { config: { configurable: { subagent_enabled: true } } });
    await settled('the answer', page, () => page.lines().at(-1) === 'ai: So it is.');
    await until('all is told', () => told.length === 5);
    checkTold(told);
    page.unmount();
  });

  test('a fork of an earlier checkpoint', async () => {
    const page = mount(useV2, options);
    await ready(page);
    page.stream.submit(human(words(5)));
    await settled('the answer', page, () => page.lines()[1] === lorem(5));
    const history = await fetch(`${fawn.base}/threads/${page.thread}/history`).then((r) => r.json());
    page.stream.submit(human(words(7)), { forkFrom: history.at(-1).checkpoint_id });
    await settled('the other answer', page, () => page.lines().at(-1) === lorem(7));
    page.unmount();
  });

  test('stop', async () => {
    const page = mount(useV2, options);
    await ready(page);
    page.stream.submit(human(held(`stop${mounted.length}`)));
    await until('the first words', () => page.lines()[1] === lorem(10));
    await page.stream.stop();
    await until('the run has ended', async () => await status(page.thread) === 'interrupted');
    page.unmount();
  });

  test('a question waits for its answer', async () => {
    const page = mount(useV2, options);
    await ready(page);
    page.stream.submit(human(asking));
    await settled('the question', page, () => page.stream.interrupts.length === 1);
    await page.stream.respond('blue');
    await settled('the answer', page, () => page.lines().at(-1) === 'ai: Blue it is.');
    assert.equal(page.stream.interrupts.length, 0);
    page.unmount();
  });

  test('a run is found again while it goes on', async () => {
    const page = mount(useV2, options);
    await ready(page);
    page.stream.submit(human(held(`react${mounted.length}`)));
    await until('the first words', () => page.lines()[1] === lorem(10));
    page.unmount();
    const again = mount(useV2, options, page.thread);
    await until('it is followed', () => again.stream?.isLoading && again.lines()[1] === lorem(10));
    await fawn.script.open(`react${mounted.length}`);
    await settled('the whole answer', again, () => again.lines().length === 2 && again.lines()[1] === lorem(50));
    neverDoubled(again, lorem(50));
    again.unmount();
  });
});
