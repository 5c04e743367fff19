// What clients keep on the server, through the official JavaScript SDK: assistants, the
// store, crons, and many threads at once.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client as Client1 } from 'langgraph-sdk-1';
import { Client as Client12 } from 'langgraph-sdk-12';
import { Client as Client2 } from 'langgraph-sdk-2';
import { start, until, words } from './harness.mjs';

const agent = 'lead_agent';
const human = (content) => ({ messages: [{ type: 'human', content }] });
const gone = (err) => err.status === 404 || /\b404\b/.test(err.message);
let fawn;
before(async () => { fawn = await start(); });
after(() => fawn?.stop());

for (const [release, Client, mount] of [['1.6.0', Client1, '/api/langgraph'], ['1.12', Client12, ''], ['2.0.0', Client2, '']]) {
  describe(`SDK ${release} at ${mount || '/'}`, () => {
    let client;
    before(() => { client = new Client({ apiUrl: fawn.base + mount, apiKey: null, callerOptions: { maxRetries: 0 } }); });

    test('keeps assistants with versions, and their options reach runs', async () => {
      const made = await client.assistants.create({ graphId: agent, name: `Mine ${release}`, config: { configurable: { reasoning_effort: 'low' } }, metadata: { release } });
      assert.equal(made.version, 1);
      assert.equal((await client.assistants.update(made.assistant_id, { graphId: agent, name: 'New', metadata: { more: 1 } })).version, 2);
      assert.deepEqual((await client.assistants.getVersions(made.assistant_id)).map((v) => v.version), [2, 1]);
      assert.equal((await client.assistants.setLatest(made.assistant_id, 1)).name, `Mine ${release}`);
      assert.equal((await client.assistants.search({ metadata: { release } }))[0].assistant_id, made.assistant_id);
      const thread = await client.threads.create();
      const run = await client.runs.create(thread.thread_id, made.assistant_id, { input: human(words(1)) });
      assert.equal(run.assistant_id, made.assistant_id);
      assert.equal(run.kwargs.config.configurable.reasoning_effort, 'low');
      await client.runs.join(thread.thread_id, run.run_id);
      await client.assistants.delete(made.assistant_id);
      await assert.rejects(client.assistants.get(made.assistant_id), gone);
    });

    test('keeps items', async () => {
      const place = ['e2e', `sdk ${release}`.replaceAll('.', '-')];
      await client.store.putItem(place, 'a', { n: 1, text: 'green tea' });
      await client.store.putItem([...place, 'deep'], 'b', { n: 2 });
      const one = await client.store.getItem(place, 'a');
      assert.deepEqual(one.value, { n: 1, text: 'green tea' });
      assert.ok(one.createdAt && one.updatedAt);
      assert.equal(await client.store.getItem(place, 'none'), null);
      assert.equal((await client.store.searchItems(place)).items.length, 2);
      assert.deepEqual((await client.store.searchItems(place, { filter: { n: 2 } })).items.map((i) => i.key), ['b']);
      assert.deepEqual((await client.store.searchItems(place, { query: 'tea' })).items.map((i) => i.key), ['a']);
      assert.deepEqual((await client.store.listNamespaces({ prefix: place })).namespaces, [place, [...place, 'deep']]);
      await client.store.deleteItem(place, 'a');
      assert.equal(await client.store.getItem(place, 'a'), null);
    });

    test('keeps crons', async () => {
      const { thread_id: thread } = await client.threads.create();
      const free = await client.crons.create(agent, { schedule: '0 9 * * 1', input: human('news'), metadata: { release } });
      const own = await client.crons.createForThread(thread, agent, { schedule: '30 18 * * *', input: human('summary') });
      assert.equal(own.thread_id, thread);
      assert.equal(new Date(free.next_run_date).getUTCDay(), 1);
      const found = await client.crons.search({ threadId: thread });
      assert.deepEqual(found.map((c) => c.cron_id), [own.cron_id]);
      if (client.crons.update) assert.equal((await client.crons.update(free.cron_id, { enabled: false })).enabled, false);
      for (const cron of [free, own]) await client.crons.delete(cron.cron_id);
      assert.deepEqual(await client.crons.search({ threadId: thread }), []);
    });

    test('counts, extracts from and prunes threads', async () => {
      const mark = `prune ${release}`, ids = [];
      for (let i = 0; i < 3; i++) ids.push((await client.threads.create({ metadata: { mark } })).thread_id);
      await client.runs.wait(ids[0], agent, { input: human(words(3)) });
      const found = await (await fetch(`${fawn.base}${mount}/threads/search`, { method: 'POST', body: JSON.stringify({ ids: [ids[0]], select: ['thread_id'], extract: { last: 'values.messages[-1].content' } }) })).json();
      assert.deepEqual(found, [{ thread_id: ids[0], extracted: { last: 'lorem '.repeat(3) } }]);
      if (client.threads.count) assert.equal(await client.threads.count({ metadata: { mark } }), 3);
      const prune = client.threads.prune?.bind(client.threads) ?? (async (threads, o) => (await fetch(`${fawn.base}${mount}/threads/prune`, { method: 'POST', body: JSON.stringify({ thread_ids: threads, ...o }) })).json());
      assert.equal((await prune([ids[0]], { strategy: 'keep_latest' })).pruned_count, 1);
      assert.equal((await client.threads.getState(ids[0])).values.messages.length, 2);
      assert.equal((await prune(ids, { strategy: 'delete' })).pruned_count, 3);
      await assert.rejects(client.threads.get(ids[0]), gone);
    });

    test('follows a thread from run to run', async () => {
      const { thread_id: thread } = await client.threads.create();
      const leave = new AbortController(), seen = [];
      const join = client.threads.joinStream?.bind(client.threads);
      if (!join) return; // this release cannot
      const reading = (async () => {
        for await (const part of join(thread, { signal: leave.signal, lastEventId: '-1' })) {
          seen.push(part.event);
          if (seen.filter((e) => e === 'run_done').length === 2) return;
        }
      })();
      for (let i = 0; i < 2; i++) await client.runs.wait(thread, agent, { input: human(words(2)) });
      await reading;
      leave.abort();
      assert.equal(seen.filter((e) => e === 'metadata').length, 2);
      assert.ok(seen.includes('values'));
    });
  });
}

test('a scheduled task runs when it is told to, and survives a restart', async () => {
  const send = async (method, path, body) => {
    const res = await fetch(fawn.base + path, { method, body: body && JSON.stringify(body) });
    assert.equal(res.status, 200, `${method} ${path}: ${await res.clone().text()}`);
    return res.json();
  };
  const { id } = await send('POST', '/api/scheduled-tasks', { title: 'Daily', prompt: words(2), schedule_type: 'cron', schedule_spec: { cron: '0 9 29 2 *' }, timezone: 'Asia/Shanghai' });
  await send('POST', `/api/scheduled-tasks/${id}/trigger`);
  const task = await until('the task has run', async () => { const t = await send('GET', `/api/scheduled-tasks/${id}`); return t.run_count === 1 && t.status === 'enabled' && t; });
  const state = await send('GET', `/api/threads/${task.last_thread_id}/state`);
  assert.equal(state.values.messages.at(-1).content, 'lorem lorem ');
  await fawn.kill();
  await fawn.restart();
  const after = await send('GET', `/api/scheduled-tasks/${id}`);
  assert.deepEqual([after.next_run_at, after.run_count, after.prompt], [task.next_run_at, 1, words(2)]);
});
