// OpenAI's own SDK for JavaScript against the real binary: an agent as a model, in completions and in responses.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { scripted, start, until, words } from './harness.mjs';

let fawn, client;
before(async () => {
  fawn = await start();
  client = new OpenAI({ baseURL: fawn.base + '/v1', apiKey: 'none', maxRetries: 0 });
});
after(() => fawn?.stop());

const model = 'lead_agent';
const user = (content) => ({ role: 'user', content });

test('models are the agents', async () => {
  const ids = [];
  for await (const m of client.models.list()) ids.push(m.id);
  assert.ok(ids.includes(model), ids.join());
  assert.equal((await client.models.retrieve(model)).owned_by, 'fawn');
  await assert.rejects(client.models.retrieve('gpt-4o'), OpenAI.NotFoundError);
});

test('a conversation of three turns, streamed and whole', async () => {
  const messages = [user(scripted({ text: 'One.' }))];
  const first = await client.chat.completions.create({ model, messages });
  assert.equal(first.choices[0].message.content, 'One.');
  assert.ok(first.usage.total_tokens > 0);
  messages.push(first.choices[0].message, user(scripted({ text: 'Two, three.' })));
  let said = '';
  const stream = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
  stream.on('content', (delta) => { said += delta; });
  const second = await stream.finalChatCompletion();
  assert.equal(said, 'Two, three.');
  assert.equal(second.choices[0].message.content, said);
  messages.push(second.choices[0].message, user(scripted({ text: 'Four.' })));
  const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
  assert.equal(data.choices[0].message.content, 'Four.');
  const thread = await fetch(`${fawn.base}/threads/${response.headers.get('x-thread-id')}/state`).then((r) => r.json());
  assert.deepEqual(thread.values.messages.map((m) => m.type), ['human', 'ai', 'human', 'ai', 'human', 'ai']);
});

test('a picture and a file reach the agent', async () => {
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const done = await client.chat.completions.create({ model, messages: [user([
    { type: 'text', text: scripted({ tool_calls: [{ name: 'read_file', args: { description: 'read', path: '/mnt/user-data/uploads/note.txt' } }] }, { text: 'Read.' }) },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,' + pixel } },
    { type: 'file', file: { filename: 'note.txt', file_data: 'data:text/plain;base64,' + Buffer.from('hello there').toString('base64') } },
  ])] });
  assert.equal(done.choices[0].message.content, 'Read.');
  assert.ok(JSON.stringify(await fawn.script.requests()).includes('hello there'));
});

test('leaving a stream stops the run', async () => {
  const stream = await client.chat.completions.create({ model, stream: true, messages: [user(words(3000, 50))] });
  const seen = [];
  for await (const chunk of stream) {
    seen.push(chunk);
    if (seen.length > 5) break;
  }
  stream.controller.abort();
  const run = seen[0].id.replace('chatcmpl-', '');
  await until('the run is stopped', async () => {
    const threads = await fetch(`${fawn.base}/threads/search`, { method: 'POST', body: '{"limit": 3, "select": ["thread_id"]}' }).then((r) => r.json());
    for (const { thread_id } of threads) {
      const r = await fetch(`${fawn.base}/threads/${thread_id}/runs/${run}`);
      if (r.ok) return (await r.json()).status === 'interrupted';
    }
    return false;
  });
});

test('responses go on from each other', async () => {
  const first = await client.responses.create({ model, instructions: 'Be brief.', input: scripted({ text: 'One.' }) });
  assert.equal(first.output_text, 'One.');
  const stream = client.responses.stream({ model, input: scripted({ reasoning: 'I think.', text: 'Two.' }), previous_response_id: first.id });
  const types = new Set();
  for await (const event of stream) types.add(event.type);
  const second = await stream.finalResponse();
  assert.equal(second.output_text, 'Two.');
  for (const type of ['response.created', 'response.output_text.delta', 'response.completed']) assert.ok(types.has(type), type);
  assert.equal((await client.responses.retrieve(second.id)).output_text, 'Two.');
});

test('a failing model is an error', async () => {
  fawn.expects(/model/);
  const failing = scripted({ error: { status: 400, message: 'no such thing' } });
  await assert.rejects(client.chat.completions.create({ model, messages: [user(failing)] }), OpenAI.APIError);
});
