// One call of every method the JavaScript SDK has, in an order in which each finds what it
// needs. w is what the calls before have made.
import assert from 'node:assert/strict';
import { words } from './harness.mjs';

export const agent = 'lead_agent';
export const human = (content) => ({ messages: [{ type: 'human', content }] });
export const gone = (err) => err.status === 404 || /\b404\b/.test(err.message);
const all = async (stream) => {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
};
const never = { input: human(words(1)), afterSeconds: 3600 };

export const methods = {
  'assistants.create': async (c, w) => {
    w.assistant = (await c.assistants.create({ graphId: agent, name: 'Mine', metadata: { mark: w.mark } })).assistant_id;
    assert.ok(w.assistant);
  },
  'assistants.update': async (c, w) => assert.equal((await c.assistants.update(w.assistant, { graphId: agent, name: 'Ours' })).version, 2),
  'assistants.getVersions': async (c, w) => assert.deepEqual((await c.assistants.getVersions(w.assistant)).map((v) => v.version), [2, 1]),
  'assistants.setLatest': async (c, w) => assert.equal((await c.assistants.setLatest(w.assistant, 1)).name, 'Mine'),
  'assistants.get': async (c, w) => assert.equal((await c.assistants.get(w.assistant)).graph_id, agent),
  'assistants.search': async (c, w) => assert.deepEqual((await c.assistants.search({ metadata: { mark: w.mark } })).map((a) => a.assistant_id), [w.assistant]),
  'assistants.count': async (c, w) => assert.equal(await c.assistants.count({ metadata: { mark: w.mark } }), 1),
  'assistants.getGraph': async (c, w) => assert.ok((await c.assistants.getGraph(w.assistant)).edges.length > 0),
  'assistants.getSchemas': async (c, w) => assert.equal((await c.assistants.getSchemas(w.assistant)).graph_id, agent),
  'assistants.getSubgraphs': async (c, w) => {
    assert.equal(typeof await c.assistants.getSubgraphs(w.assistant), 'object');
    assert.equal(typeof await c.assistants.getSubgraphs(w.assistant, { namespace: 'tools', recurse: true }), 'object');
  },

  'threads.create': async (c, w) => {
    w.thread = (await c.threads.create({ metadata: { mark: w.mark } })).thread_id;
    const built = await c.threads.create({ metadata: { mark: w.mark }, graphId: agent, ttl: 60, supersteps: [{ updates: [{ values: human('From elsewhere'), asNode: '__input__' }] }] });
    assert.equal((await c.threads.getState(built.thread_id)).values.messages[0].content, 'From elsewhere');
    w.built = built.thread_id;
  },
  'threads.get': async (c, w) => assert.equal((await c.threads.get(w.thread)).status, 'idle'),
  'threads.update': async (c, w) => assert.equal((await c.threads.update(w.thread, { metadata: { more: 1 }, ttl: 90 })).metadata.more, 1),
  'threads.search': async (c, w) => {
    assert.equal((await c.threads.search({ metadata: { mark: w.mark }, limit: 1 })).length, 1);
    const found = await c.threads.search({ ids: [w.built], select: ['thread_id', 'values'] });
    assert.deepEqual(Object.keys(found[0]).sort(), ['thread_id', 'values']);
  },
  'threads.count': async (c, w) => assert.equal(await c.threads.count({ metadata: { mark: w.mark } }), 2),

  'runs.wait': async (c, w) => {
    assert.equal((await c.runs.wait(w.thread, agent, { input: human(words(2)) })).messages.length, 2);
    assert.equal((await c.runs.wait(null, agent, { input: human(words(1)) })).messages.length, 2);
  },
  'runs.stream': async (c, w) => {
    const parts = await all(c.runs.stream(w.thread, agent, { input: human(words(2)), streamMode: 'values' }));
    assert.equal(parts.filter((p) => p.event === 'values').at(-1).data.messages.length, 4);
    w.run = parts[0].data.run_id;
    const other = await all(c.runs.stream(null, agent, { input: human(words(1)), onCompletion: 'keep' }));
    assert.equal(other.at(-1).event, 'end');
    w.stateless = other[0].data.run_id;
  },
  'runs.create': async (c, w) => {
    w.pending = (await c.runs.create(w.thread, agent, never)).run_id;
    const free = await c.runs.create(null, agent, { input: human(words(1)) });
    assert.ok(free.thread_id && free.run_id);
  },
  'runs.createBatch': async (c) => assert.equal((await c.runs.createBatch([1, 2].map((n) => ({ assistantId: agent, input: human(words(n)) })))).length, 2),
  'runs.list': async (c, w) => assert.deepEqual((await c.runs.list(w.thread, { limit: 2, status: 'pending' })).map((r) => r.run_id), [w.pending]),
  'runs.get': async (c, w) => assert.equal((await c.runs.get(w.thread, w.run)).status, 'success'),
  'runs.join': async (c, w) => assert.equal((await c.runs.join(w.thread, w.run)).messages.length, 4),
  'runs.joinStream': async (c, w) => {
    assert.equal((await all(c.runs.joinStream(w.thread, w.run, { lastEventId: '-1', streamMode: ['values'] }))).at(-1).event, 'end');
    assert.equal((await all(c.runs.joinStream(null, w.stateless))).at(-1).event, 'end');
  },
  'runs.cancel': async (c, w) => {
    await c.runs.cancel(w.thread, w.pending, true);
    assert.equal((await c.runs.get(w.thread, w.pending)).status, 'interrupted');
  },
  'runs.cancelMany': async (c, w) => {
    const run = await c.runs.create(w.thread, agent, never);
    await c.runs.cancelMany({ threadId: w.thread, runIds: [run.run_id] });
    assert.equal((await c.runs.get(w.thread, run.run_id)).status, 'interrupted');
  },
  'runs.delete': async (c, w) => {
    await c.runs.delete(w.thread, w.pending);
    await assert.rejects(c.runs.get(w.thread, w.pending), gone);
  },

  'threads.getState': async (c, w) => {
    const now = await c.threads.getState(w.thread);
    assert.equal(now.values.messages.length, 4);
    w.checkpoint = now.checkpoint;
    assert.deepEqual((await c.threads.getState(w.thread, w.checkpoint.checkpoint_id)).values, now.values);
    assert.deepEqual((await c.threads.getState(w.thread, w.checkpoint, { subgraphs: true })).values, now.values);
  },
  'threads.updateState': async (c, w) => {
    await c.threads.updateState(w.thread, { values: { title: 'By hand' }, checkpoint: w.checkpoint });
    assert.equal((await c.threads.getState(w.thread)).values.title, 'By hand');
  },
  'threads.patchState': async (c, w) => {
    await c.threads.patchState(w.thread, { patched: true });
    assert.equal((await c.threads.getState(w.thread)).metadata.patched, true);
  },
  'threads.getHistory': async (c, w) => {
    const history = await c.threads.getHistory(w.thread, { limit: 2, metadata: { source: 'loop' } });
    assert.equal(history.length, 2);
    assert.ok(history.every((h) => h.metadata.source === 'loop'));
  },
  'threads.copy': async (c, w) => {
    const { thread_id: copy } = await c.threads.copy(w.thread);
    assert.equal((await c.threads.getState(copy)).values.messages.length, 4);
  },
  'threads.joinStream': async (c, w) => {
    const leave = new AbortController();
    let last;
    for await (const part of c.threads.joinStream(w.thread, { lastEventId: '-1', streamMode: 'lifecycle', signal: leave.signal })) {
      if ((last = part.event) === 'run_done') break;
    }
    leave.abort();
    assert.equal(last, 'run_done');
  },
  'threads.stream': async (c, w) => {
    const thread = c.threads.stream(crypto.randomUUID(), { assistantId: agent, fetch: w.fetch });
    const { run_id: run } = await thread.run.start({ input: human(words(2)) });
    assert.equal((await thread.output).messages.length, 2);
    assert.equal((await c.runs.get(thread.threadId, run)).status, 'success');
    await thread.close();
  },
  'threads.prune': async (c, w) => assert.equal((await c.threads.prune([w.built], { strategy: 'delete' })).pruned_count, 1),

  'crons.create': async (c, w) => {
    w.cron = (await c.crons.create(agent, { schedule: '0 9 * * 1', input: human('news'), metadata: { mark: w.mark } })).cron_id;
    assert.ok(w.cron);
  },
  'crons.createForThread': async (c, w) => {
    const made = await c.crons.createForThread(w.thread, agent, { schedule: '30 18 * * *', input: human('summary') });
    assert.equal(made.thread_id, w.thread);
  },
  'crons.search': async (c, w) => assert.equal((await c.crons.search({ threadId: w.thread })).length, 1),
  'crons.count': async (c, w) => assert.equal(await c.crons.count({ threadId: w.thread }), 1),
  'crons.update': async (c, w) => assert.equal((await c.crons.update(w.cron, { enabled: false })).enabled, false),
  'crons.delete': async (c, w) => {
    await c.crons.delete(w.cron);
    await assert.rejects(c.crons.delete(w.cron), gone);
  },

  'store.putItem': async (c, w) => c.store.putItem(['methods', w.mark], 'a', { n: 1 }),
  'store.getItem': async (c, w) => assert.deepEqual((await c.store.getItem(['methods', w.mark], 'a')).value, { n: 1 }),
  'store.searchItems': async (c, w) => assert.deepEqual((await c.store.searchItems(['methods', w.mark], { filter: { n: 1 } })).items.map((i) => i.key), ['a']),
  'store.listNamespaces': async (c, w) => assert.deepEqual((await c.store.listNamespaces({ prefix: ['methods', w.mark] })).namespaces, [['methods', w.mark]]),
  'store.deleteItem': async (c, w) => {
    await c.store.deleteItem(['methods', w.mark], 'a');
    assert.equal(await c.store.getItem(['methods', w.mark], 'a'), null);
  },

  '~ui.getComponent': async (c) => assert.rejects(c['~ui'].getComponent(agent, 'card'), gone), // there are none
  'threads.delete': async (c, w) => {
    await c.threads.delete(w.thread);
    await assert.rejects(c.threads.get(w.thread), gone);
  },
  'assistants.delete': async (c, w) => {
    await c.assistants.delete(w.assistant);
    await assert.rejects(c.assistants.get(w.assistant), gone);
  },
};

// has lists the methods of a client as they stand on its prototypes.
export const has = (client) => Object.entries(client).filter(([, part]) => part !== null && typeof part === 'object').flatMap(([name, part]) => (
  Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter((m) => m !== 'constructor' && typeof part[m] === 'function').map((m) => `${name}.${m}`)));
