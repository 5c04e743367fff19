// Every method of every release of the JavaScript SDK, and with them every endpoint of
// the API that is LangGraph's.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client as Client0 } from 'langgraph-sdk-0';
import { Client as Client1 } from 'langgraph-sdk-1';
import { Client as Client12 } from 'langgraph-sdk-12';
import { Client as Client2 } from 'langgraph-sdk-2';
import { start } from './harness.mjs';
import { has, methods } from './methods.mjs';

// The endpoints the SDKs call between them. A name of the server's own making is {}.
const endpoints = `
POST /assistants/search
POST /assistants/count
GET /assistants/{}
GET /assistants/{}/graph
GET /assistants/{}/schemas
GET /assistants/{}/subgraphs
GET /assistants/{}/subgraphs/{}
POST /assistants
PATCH /assistants/{}
DELETE /assistants/{}
POST /assistants/{}/versions
POST /assistants/{}/latest
POST /threads
POST /threads/search
POST /threads/count
POST /threads/prune
GET /threads/{}
PATCH /threads/{}
DELETE /threads/{}
POST /threads/{}/copy
GET /threads/{}/state
POST /threads/{}/state
PATCH /threads/{}/state
GET /threads/{}/state/{}
POST /threads/{}/state/checkpoint
POST /threads/{}/history
GET /threads/{}/stream
POST /threads/{}/runs
POST /threads/{}/runs/stream
POST /threads/{}/runs/wait
GET /threads/{}/runs
GET /threads/{}/runs/{}
DELETE /threads/{}/runs/{}
GET /threads/{}/runs/{}/join
GET /threads/{}/runs/{}/stream
POST /threads/{}/runs/{}/cancel
POST /runs
POST /runs/stream
POST /runs/wait
POST /runs/batch
POST /runs/cancel
GET /runs/{}/stream
PUT /store/items
GET /store/items
DELETE /store/items
POST /store/items/search
POST /store/namespaces
POST /runs/crons
POST /threads/{}/runs/crons
POST /runs/crons/search
POST /runs/crons/count
PATCH /runs/crons/{}
DELETE /runs/crons/{}
POST /threads/{}/commands
POST /threads/{}/stream/events
POST /ui/{}`.trim().split('\n');

// endpoint is the name of a request among those that fit it, the one with the fewest holes.
const endpoint = (method, path) => endpoints.filter((e) => new RegExp(`^${e.replaceAll('{}', '[^/]+')}$`).test(`${method} ${path}`))
  .sort((a, b) => a.split('{}').length - b.split('{}').length)[0];

let fawn;
before(async () => { fawn = await start(); });
after(() => fawn?.stop());

for (const mount of ['', '/api/langgraph']) {
  describe(`every method of the SDK at ${mount || '/'}`, () => {
    const called = new Set(), known = new Set();
    for (const [release, Client] of [['0.1', Client0], ['1.6', Client1], ['1.12', Client12], ['2.0', Client2]]) {
      test(release, async () => {
        const recorded = (url, init) => {
          const name = endpoint(init?.method ?? 'GET', new URL(url).pathname.slice(mount.length));
          assert.ok(name, `${init?.method} ${url} is no endpoint of the table`);
          called.add(name);
          return fetch(url, init);
        };
        const client = new Client({ apiUrl: fawn.base + mount, apiKey: null, callerOptions: { maxRetries: 0, fetch: recorded } });
        const own = has(client), w = { fetch: recorded, mark: `methods-${release}${mount}`.replaceAll(/[./]/g, '-') };
        assert.ok(own.length >= 40, `only ${own.length} methods were found`);
        assert.deepEqual(own.filter((name) => !methods[name]), [], 'methods without a call');
        for (const [name, call] of Object.entries(methods)) {
          if (!own.includes(name)) continue;
          known.add(name);
          await call(client, w).catch((err) => { throw new Error(`${name}: ${err.message}`, { cause: err }); });
        }
      });
    }

    test('all together', () => {
      assert.deepEqual(Object.keys(methods).filter((name) => !known.has(name)), [], 'calls no release has a method for');
      assert.deepEqual(endpoints.filter((e) => !called.has(e)), [], 'endpoints nobody called');
    });

    test('endpoints without a method', async () => {
      const ask = async (method, path, body) => {
        const res = await fetch(fawn.base + mount + path, { method, body: body && JSON.stringify(body) });
        assert.equal(res.status, 200, `${method} ${path}`);
        return res;
      };
      assert.deepEqual(await (await ask('GET', '/ok')).json(), { ok: true });
      assert.equal((await (await ask('GET', '/info')).json()).flags.assistants, true);
      const { thread_id: id } = await (await ask('POST', '/threads', {})).json();
      const { run_id: run } = await (await ask('POST', `/threads/${id}/runs`, { assistant_id: 'lead_agent', input: { messages: ['echo 1 tokens at 0 tok/s'] } })).json();
      assert.equal((await (await ask('GET', `/runs/${run}/join`)).json()).messages.length, 2);
      assert.match(await (await ask('POST', `/threads/${id}/runs/${run}/stream`)).text(), /event: end/);
      assert.ok((await (await ask('GET', `/threads/${id}/history?limit=1`)).json()).length === 1);
      assert.ok(Array.isArray(await (await ask('GET', '/threads?limit=1')).json()));
    });
  });
}
