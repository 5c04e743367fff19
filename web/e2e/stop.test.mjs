// A server that is stopped under load ends with exit code 0, answers nothing with a 500 and logs no error, and
// neither does the one that goes on with its data.
import test from 'node:test';
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { scripted, start, until, words } from './harness.mjs';

const soak = process.env.FAWN_SOAK === '1';
const bash = (command) => ({ tools: [{ name: 'bash', args: { description: 'Work', command } }] });
const human = (content) => ({ assistant_id: 'lead_agent', input: { messages: [{ type: 'human', content }] } });
const talk = (content) => ({ ...human(content), stream_mode: ['messages-tuple', 'values'] });

const json = (body, method = 'POST') => ({ method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const page = { headers: { accept: 'text/html' } };
const part = { headers: { accept: 'text/html', 'hx-request': 'true' } };
const form = (fields) => ({ method: 'POST', headers: { accept: 'text/html', 'hx-request': 'true' }, body: new URLSearchParams(fields) });
const file = () => {
  const body = new FormData();
  body.append('files', new Blob(['name,amount\na,1\n'], { type: 'text/csv' }), 'sheet.csv');
  return { method: 'POST', body };
};

// asked is what pages and programs ask for; t has threads: one at rest, one with an answer in progress, and one
// with a command in progress.
const asked = (t) => [
  ...['/workspace/chats', '/workspace/chats/new', `/workspace/chats/${t.rest}`, `/workspace/chats/${t.talks}`, `/workspace/chats/${t.works}/files`,
    '/workspace/agents', '/workspace/skills', '/workspace/scheduled-tasks', '/workspace/usage', '/workspace/settings/models',
    '/workspace/settings/memory', '/workspace/settings/tools', '/workspace/settings/mcp', '/workspace/settings/channels'].map((path) => [path, page]),
  ...['/ui/palette?q=tokens', '/ui/threads', '/ui/commands', ...['menu', 'panel', 'usage', 'turns', 'status', 'memory', 'tools', 'export.md', 'export.json', 'files.zip',
    'uploads'].map((what) => `/ui/threads/${t.rest}/${what}`)].map((path) => [path, part]),
  ...[t.rest, t.talks, t.works].map((id) => [`/ui/threads/${id}/stream`, { headers: { accept: 'text/event-stream' } }]),
  [`/ui/threads/${t.rest}/followups`, form({})],
  [`/ui/threads/${t.rest}/rename`, form({ title: 'A name' })],
  [`/ui/threads/${t.rest}/pin`, form({ pinned: 'true' })],
  [`/ui/threads/${t.rest}/seen`, form({})],
  [`/ui/threads/${t.rest}/messages`, form({ text: words(20, 200) })],
  [`/ui/threads/${t.talks}/messages`, form({ text: words(20, 200) })],
  ['/ui/prefs', form({ theme: 'dark' })],
  ['/threads', json({})],
  ['/threads/search', json({ limit: 10 })],
  ['/assistants/search', json({})],
  [`/threads/${t.rest}/state`, {}],
  [`/threads/${t.rest}/history`, json({ limit: 10 })],
  [`/threads/${t.rest}/runs`, {}],
  [`/threads/${t.rest}/state`, json({ values: { title: 'Another name' } })],
  ['/runs/stream', json(talk(words(40, 100)))],
  ['/runs/wait', json(human(words(40, 100)))],
  ['/runs/wait', json(human(scripted(bash('sleep 0.2; echo done > /mnt/user-data/outputs/done.txt'), { text: 'Done.' })))],
  ...['models', 'skills', 'memory', 'mcp/config', `threads/${t.rest}/uploads/list`, 'channels/'].map((path) => ['/api/' + path, {}]),
  [`/api/threads/${t.rest}/suggestions`, json({ messages: [{ role: 'user', content: 'Hello' }], n: 3 })],
  [`/api/threads/${t.rest}/uploads`, file],
];

const thread = async (base) => (await (await fetch(base + '/threads', json({}))).json()).thread_id;

for (const servers of [1, ...(soak ? [2] : [])]) {
  test(`a server that is stopped under load answers no 500 and logs no error (${servers})`, async (t) => {
    const own = await start({ servers, memory: 'enabled: true' });
    const delays = soak ? Array.from({ length: 30 }, () => 20 + Math.floor(Math.random() * 2000)) : [40, 150, 400, 900];
    const answers = {};
    try {
      for (const wait of delays) {
        const ids = { rest: await thread(own.base), talks: await thread(own.base), works: await thread(own.base) };
        await (await fetch(`${own.base}/threads/${ids.rest}/runs/wait`, json(human(words(30))))).text();
        await (await fetch(`${own.base}/threads/${ids.talks}/runs`, json(human(words(600, 100))))).json();
        await (await fetch(`${own.base}/threads/${ids.works}/runs`, json(human(scripted(bash('for i in $(seq 100); do echo $i; sleep 0.1; done'), { text: 'Done.' }))))).json();
        let over = false;
        const wrong = [];
        const loops = asked(ids).map(async ([path, how]) => {
          while (!over) {
            try {
              const res = await fetch(own.base + path, { redirect: 'manual', ...(typeof how === 'function' ? how() : how) });
              const body = await res.text();
              answers[res.status] = (answers[res.status] ?? 0) + 1;
              if (res.status >= 500 && res.status !== 503) wrong.push(`${path}: ${res.status} ${body.slice(0, 300)}`);
            } catch { /* the server has gone */ }
            await delay(5);
          }
        });
        await delay(wait);
        const began = Date.now();
        const { code } = await own.leave().finally(() => { over = true; });
        t.diagnostic(`stopped after ${wait} ms, in ${Date.now() - began} ms`);
        await Promise.all(loops);
        assert.equal(code, 0);
        assert.deepEqual(wrong, []);
        await own.restart();
        await until('the runs end', async () => {
          const found = await (await fetch(own.base + '/threads/search', json({ status: 'busy', limit: 1000 }))).json();
          await Promise.all(found.map(async ({ thread_id: id }) => {
            const listed = await fetch(`${own.base}/threads/${id}/runs`);
            if (listed.status === 404) return; // the thread of a stateless run goes with it
            for (const run of await listed.json()) {
              if (run.status === 'running' || run.status === 'pending') await fetch(`${own.base}/threads/${id}/runs/${run.run_id}/cancel`, { method: 'POST' });
            }
          }));
          return found.length === 0;
        });
      }
      assert.ok(answers[200] > 50, 'too little was asked to mean anything');
    } finally {
      t.diagnostic(JSON.stringify(answers));
      await own.stop();
    }
  });
}
