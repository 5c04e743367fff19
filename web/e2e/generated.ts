// A job by a client whose types openapi-typescript made: a thread, a run, its result, its state, an upload, an artifact, and away
// with it. TypeScript checks it in its strict mode, so whatever the types lack stops the test.
import createClient from 'openapi-fetch';
import type { paths } from './fawn.js';

declare const process: { argv: string[] };
const fawn = createClient<paths>({ baseUrl: process.argv[2] });

function got<T>(what: string, r: { data?: T; error?: unknown; response: Response }): T {
  if (r.error !== undefined || r.data === undefined) throw new Error(`${what}: ${r.response.status} ${JSON.stringify(r.error)}`);
  console.log('ok  ' + what);
  return r.data;
}
const equal = (got: unknown, want: unknown, what: string) => {
  if (got !== want) throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
};

const thread = got('a thread', await fawn.POST('/threads', { body: { metadata: { topic: 'deer', count: 7 } } }));
equal(thread.metadata.topic, 'deer', 'metadata');
equal(thread.status, 'idle', 'status');
const path = { thread_id: thread.thread_id };

const script = { turns: [{ tool_calls: [{ name: 'write_file', args: { description: 'write', path: '/mnt/user-data/outputs/deer.txt', content: 'seven' } }] },
  { text: 'Seven deer.' }] };
const body = { assistant_id: 'lead_agent', input: { messages: [{ role: 'user', content: 'SCRIPT' + JSON.stringify(script) }] },
  config: { configurable: { thinking_enabled: false } }, metadata: { from: 'generated' } };
const run = got('a run', await fawn.POST('/threads/{thread_id}/runs', { params: { path }, body }));
equal(run.metadata.from, 'generated', 'metadata of the run');
const result = got('its result', await fawn.GET('/threads/{thread_id}/runs/{run_id}/join', { params: { path: { ...path, run_id: run.run_id } } }));
equal(result.messages?.at(-1)?.content, 'Seven deer.', 'the answer');
const ended = got('the run', await fawn.GET('/threads/{thread_id}/runs/{run_id}', { params: { path: { ...path, run_id: run.run_id } } }));
equal(ended.status, 'success', 'status of the run');

const state = got('the state', await fawn.GET('/threads/{thread_id}/state', { params: { path } }));
equal(state.next.length, 0, 'what is next');
const calls = state.values.messages?.flatMap((m) => m.tool_calls ?? []);
equal(calls?.[0]?.name, 'write_file', 'the call');
const found = got('a search', await fawn.POST('/threads/search', { body: { metadata: { topic: 'deer' }, limit: 5 } }));
equal(found[0]?.thread_id, thread.thread_id, 'the thread that is found');

const form = new FormData();
form.append('files', new Blob(['hello']), 'note.txt');
const stored = got('an upload', await fawn.POST('/threads/{thread_id}/uploads', { params: { path }, body: { files: ['note.txt'] }, bodySerializer: () => form }));
equal(stored.files[0]?.filename, 'note.txt', 'the file');
const list = got('the uploads', await fawn.GET('/threads/{thread_id}/uploads/list', { params: { path } }));
equal(list.count, 1, 'the count of uploads');
const file = await fetch(`${process.argv[2]}/threads/${thread.thread_id}/artifacts/mnt/user-data/outputs/deer.txt`);
equal(await file.text(), 'seven', 'the artifact');

const item = { namespace: ['docs'], key: 'deer', value: { legs: 4 } };
await fawn.PUT('/store/items', { body: item });
const kept = got('items', await fawn.POST('/store/items/search', { body: { namespace_prefix: ['docs'], filter: { legs: 4 } } }));
equal(kept.items[0]?.value.legs, 4, 'the value of the item');
const chat = got('a completion', await fawn.POST('/v1/chat/completions', { body: { model: 'lead_agent', messages: [{ role: 'user', content: 'SCRIPT{"turns":[{"text":"Hi."}]}' }] },
  params: { header: { 'Idempotency-Key': 'job-' + thread.thread_id } } }));
if (typeof chat === 'string') throw new Error('a stream');
equal(chat.choices[0]?.message.content, 'Hi.', 'the completion');

const gone = await fawn.DELETE('/threads/{thread_id}', { params: { path } });
equal(gone.response.status, 204, 'delete');
const missing = await fawn.GET('/threads/{thread_id}', { params: { path } });
equal(missing.response.status, 404, 'the thread afterwards');
if (!missing.error?.detail) throw new Error('a refusal without a reason');
console.log('done');
