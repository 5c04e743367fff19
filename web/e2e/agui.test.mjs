// AG-UI's client for LangGraph servers, which CopilotKit runs on, against the real binary: text, thoughts, tool calls
// that stream and that don't, a question, and a second message in the same thread.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { randomUUID } from 'node:crypto';
import { EventType } from '@ag-ui/client';
import { LangGraphAgent } from '@ag-ui/langgraph';
import { scripted, start } from './harness.mjs';

let fawn;
before(async () => { fawn = await start(); });
after(() => fawn?.stop());

// run sends a message in a thread, or the answer to its question, and returns the events that the client made of the answer.
const run = async (mount, threadId, content, forwardedProps = {}) => {
  const agent = new LangGraphAgent({ deploymentUrl: fawn.base + mount, graphId: 'lead_agent' });
  agent.threadId = threadId;
  agent.messages = [{ id: randomUUID(), role: 'user', content }];
  const events = [];
  await agent.runAgent({ runId: randomUUID(), forwardedProps }, { onEvent: ({ event }) => { events.push(event); } });
  return events;
};
const of = (events, ...types) => events.filter((e) => types.includes(e.type));
const said = (events) => of(events, EventType.TEXT_MESSAGE_CONTENT).map((e) => e.delta).join('');

for (const mount of ['', '/api/langgraph']) {
  test(`an answer arrives once, at ${mount || '/'}`, async () => {
    const thread = randomUUID();
    const events = await run(mount, thread, scripted({ text: 'Blue is the sky today.' }));
    assert.deepEqual(of(events, EventType.RUN_ERROR), []);
    assert.equal(said(events), 'Blue is the sky today.');
    assert.equal(of(events, EventType.TEXT_MESSAGE_START).length, 1);
    assert.equal(events.at(-1).type, EventType.RUN_FINISHED);
    assert.equal(said(await run(mount, thread, scripted({ text: 'And the sea, too.' }))), 'And the sea, too.');
  });

  test(`tool calls arrive with their arguments and results, at ${mount || '/'}`, async () => {
    const note = { description: 'Write a note', path: '/mnt/user-data/outputs/note.txt', content: 'hello' };
    const events = await run(mount, randomUUID(), scripted(
      { text: 'I look first.', tool_calls: [{ name: 'ls', args: { description: 'look', path: '/mnt/user-data/workspace' } }, { name: 'write_file', args: note }] },
      { tool_calls: [{ name: 'read_file', args: { description: 'read', path: '/mnt/user-data/outputs/missing.txt' } }] }, { text: 'It is written.' }));
    assert.deepEqual(of(events, EventType.RUN_ERROR), []);
    const calls = of(events, EventType.TOOL_CALL_START);
    assert.deepEqual(calls.map((c) => c.toolCallName).toSorted(), ['ls', 'read_file', 'write_file']);
    for (const { toolCallId, toolCallName } of calls) {
      const args = of(events, EventType.TOOL_CALL_ARGS).filter((e) => e.toolCallId === toolCallId).map((e) => e.delta).join('');
      if (toolCallName === 'write_file') assert.deepEqual(JSON.parse(args), note);
      else assert.match(JSON.parse(args).path, /^\/mnt\/user-data/);
      assert.equal(of(events, EventType.TOOL_CALL_END).filter((e) => e.toolCallId === toolCallId).length, 1, toolCallName);
    }
    assert.match(said(events), /It is written\.$/);
    const messages = of(events, EventType.MESSAGES_SNAPSHOT).at(-1).messages;
    assert.deepEqual(messages.map((m) => m.role), ['user', 'assistant', 'tool', 'tool', 'assistant', 'tool', 'assistant']);
  });
}

test('a question is an interrupt of the run, and a resume answers it', async () => {
  const thread = randomUUID();
  const asking = scripted({ tool_calls: [{ name: 'ask_clarification', args: { question: 'Which colour?', clarification_type: 'missing_info' } }] }, { text: 'Blue it is.' });
  const events = await run('', thread, asking);
  const asked = of(events, EventType.CUSTOM).find((e) => e.name === 'on_interrupt');
  assert.match(JSON.stringify(asked ?? events.at(-1)), /Which colour\?/);
  const answered = await run('', thread, 'blue', { command: { resume: 'blue' } });
  assert.equal(said(answered), 'Blue it is.');
});
