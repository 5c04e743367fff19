"""Every method of the official Python SDK, with and without async, against the real binary.

Usage: methods_check.py BASE_URL. Prints one line a client and exits with 1 at the first
method without a call, and at the first call that fails.
"""

import asyncio
import inspect
import sys
import uuid

from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.errors import NotFoundError

AGENT = "lead_agent"


def human(text):
    return {"messages": [{"type": "human", "content": text}]}


def words(n):
    return human(f"echo {n} tokens at 0 tok/s")


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


class World:
    """A client of either kind, and what the calls before have made."""

    def __init__(self, client, loop, mark):
        self.client, self.loop, self.mark = client, loop, mark

    def done(self, result):
        """The result of a call, which an async client has to be waited for."""
        return self.loop.run_until_complete(result) if inspect.isawaitable(result) else result

    def parts(self, stream, last="end"):
        """What a stream tells up to an event."""
        out, stream = [], self.done(stream)
        if hasattr(stream, "__aiter__"):
            async def read():
                async for part in stream:
                    out.append(part)
                    if part.event == last:
                        break
                await stream.aclose()
            self.loop.run_until_complete(read())
            return out
        for part in stream:
            out.append(part)
            if part.event == last:
                break
        stream.close()
        return out

    def gone(self, call, *args):
        try:
            self.done(call(*args))
        except NotFoundError:
            return
        raise AssertionError(f"{args} is still there")


def assistants(w):
    c, done = w.client.assistants, w.done
    made = done(c.create(AGENT, name="Mine", metadata={"mark": w.mark}))["assistant_id"]
    equal(done(c.update(made, name="Ours"))["version"], 2, "version after an update")
    equal([v["version"] for v in done(c.get_versions(made))], [2, 1], "versions")
    equal(done(c.set_latest(made, 1))["name"], "Mine", "name of the first version")
    equal(done(c.get(made))["graph_id"], AGENT, "graph of the assistant")
    equal([a["assistant_id"] for a in done(c.search(metadata={"mark": w.mark}))], [made], "found assistants")
    equal(done(c.count(metadata={"mark": w.mark})), 1, "count of assistants")
    equal(done(c.get_graph(made))["nodes"][0]["id"], "__start__", "first node of the graph")
    equal(done(c.get_schemas(made))["graph_id"], AGENT, "graph of the schemas")
    equal(type(done(c.get_subgraphs(made, namespace="tools", recurse=True))), dict, "subgraphs")
    done(c.delete(made))
    w.gone(c.get, made)


def threads(w):
    c, runs, done = w.client.threads, w.client.runs, w.done
    made = done(c.create(metadata={"mark": w.mark}, ttl=60))["thread_id"]
    built = done(c.create(metadata={"mark": w.mark}, graph_id=AGENT, supersteps=[{"updates": [{"values": human("From elsewhere"), "as_node": "__input__"}]}]))["thread_id"]
    equal(done(c.get_state(built))["values"]["messages"][0]["content"], "From elsewhere", "message of a superstep")
    equal(done(c.get(made))["status"], "idle", "status of a new thread")
    equal(done(c.update(made, metadata={"more": 1}, ttl={"ttl": 90, "strategy": "delete"}))["metadata"]["more"], 1, "patched metadata")
    equal(done(c.update(made, metadata={"more": 2}, return_minimal=True)), None, "short answer to an update")
    equal(len(done(c.search(metadata={"mark": w.mark}, limit=1))), 1, "a page of found threads")
    equal(done(c.count(metadata={"mark": w.mark})), 2, "count of threads")
    done(runs.wait(made, AGENT, input=words(2)))
    now = done(c.get_state(made, subgraphs=True))
    equal(len(now["values"]["messages"]), 2, "messages of the state")
    equal(done(c.get_state(made, checkpoint_id=now["checkpoint"]["checkpoint_id"]))["values"], now["values"], "state by the id of its checkpoint")
    equal(done(c.get_state(made, checkpoint=now["checkpoint"]))["values"], now["values"], "state by its checkpoint")
    done(c.update_state(made, {"title": "By hand"}, checkpoint_id=now["checkpoint"]["checkpoint_id"]))
    equal(done(c.get_state(made))["values"]["title"], "By hand", "title after an update")
    equal([h["metadata"]["source"] for h in done(c.get_history(made, limit=1, metadata={"source": "loop"}))], ["loop"], "source of the history")
    equal(w.parts(c.join_stream(made, last_event_id="-1", stream_mode="lifecycle"), "run_done")[-1].event, "run_done", "end of a run in its thread's stream")
    done(c.copy(made))
    equal(done(c.count(metadata={"mark": w.mark})), 3, "count with the copy")
    equal(done(c.prune([built]))["pruned_count"], 1, "pruned threads")
    done(c.delete(made))
    w.gone(c.get, made)


def protocol(w):
    async def talk():
        async with w.client.threads.stream(str(uuid.uuid4()), assistant_id=AGENT) as thread:
            run = await thread.run.start(input=words(2))
            return thread.thread_id, run["run_id"], await thread.output
    if inspect.iscoroutinefunction(w.client.threads.get):
        thread, run, values = w.loop.run_until_complete(talk())
    else:
        with w.client.threads.stream(str(uuid.uuid4()), assistant_id=AGENT) as stream:
            run = stream.run.start(input=words(2))["run_id"]
            thread, values = stream.thread_id, stream.output
    equal(len(values["messages"]), 2, "messages of the output")
    equal(w.done(w.client.runs.get(thread, run))["status"], "success", "status of the run")


def runs(w):
    c, done = w.client.runs, w.done
    thread = done(w.client.threads.create())["thread_id"]
    equal(len(done(c.wait(thread, AGENT, input=words(2)))["messages"]), 2, "messages of wait")
    equal(len(done(c.wait(None, AGENT, input=words(1)))["messages"]), 2, "messages of a stateless wait")
    parts = w.parts(c.stream(thread, AGENT, input=words(2), stream_mode="values"))
    equal([p.event for p in (parts[0], parts[-1])], ["metadata", "end"], "first and last event")
    run = parts[0].data["run_id"]
    equal(w.parts(c.stream(None, AGENT, input=words(1)))[-1].event, "end", "last event of a stateless stream")
    later = done(c.create(thread, AGENT, input=words(1), after_seconds=3600))["run_id"]
    equal(bool(done(c.create(None, AGENT, input=words(1)))["thread_id"]), True, "thread of a stateless run")
    equal(len(done(c.create_batch([{"assistant_id": AGENT, "input": words(n)} for n in (1, 2)]))), 2, "runs of a batch")
    equal([r["run_id"] for r in done(c.list(thread, status="pending", limit=2))], [later], "pending runs")
    equal(done(c.get(thread, run))["status"], "success", "status of a run")
    equal(len(done(c.join(thread, run))["messages"]), 4, "messages of join")
    equal(w.parts(c.join_stream(thread, run, last_event_id="-1", stream_mode=["values"]))[-1].event, "end", "last event of a joined stream")
    done(c.cancel(thread, later, wait=True))
    equal(done(c.get(thread, later))["status"], "interrupted", "status after cancel")
    second = done(c.create(thread, AGENT, input=words(1), after_seconds=3600))["run_id"]
    done(c.cancel_many(thread_id=thread, status="pending"))
    equal(done(c.get(thread, second))["status"], "interrupted", "status after cancel_many")
    done(c.delete(thread, later))
    w.gone(c.get, thread, later)


def crons(w):
    c, done = w.client.crons, w.done
    thread = done(w.client.threads.create())["thread_id"]
    free = done(c.create(AGENT, schedule="0 9 * * 1", input=human("news"), metadata={"mark": w.mark}))["cron_id"]
    own = done(c.create_for_thread(thread, AGENT, schedule="30 18 * * *", input=human("summary")))
    equal([x["cron_id"] for x in done(c.search(thread_id=thread))], [own["cron_id"]], "crons of the thread")
    equal(done(c.count(thread_id=thread)), 1, "count of crons")
    equal(done(c.update(free, enabled=False))["enabled"], False, "a paused cron")
    for cron in (free, own["cron_id"]):
        done(c.delete(cron))
    equal(done(c.search(thread_id=thread)), [], "crons that are left")


def store(w):
    c, done, place = w.client.store, w.done, ["methods", w.mark]
    done(c.put_item(place, "a", {"n": 1}))
    equal(done(c.get_item(place, "a"))["value"], {"n": 1}, "value of an item")
    equal([i["key"] for i in done(c.search_items(place, filter={"n": 1}))["items"]], ["a"], "found items")
    equal(done(c.list_namespaces(prefix=place))["namespaces"], [place], "namespaces")
    done(c.delete_item(place, "a"))
    equal(done(c.get_item(place, "a")), None, "a deleted item")


class Watched:
    """A part of the client that notes which of its methods are called."""

    def __init__(self, part, name, called):
        self._part, self._name, self._called = part, name, called

    def __getattr__(self, method):
        found = getattr(self._part, method)
        if callable(found):
            self._called.add(f"{self._name}.{method}")
        return found


def methods(part):
    return {name for name, found in inspect.getmembers(part, callable) if not name.startswith("_")}


def check(kind, client, loop, mount):
    called, there = set(), set()
    for name, part in list(vars(client).items()):
        if name == "http":  # what the others are made of
            continue
        there |= {f"{name}.{m}" for m in methods(part)}
        setattr(client, name, Watched(part, name, called))
    if len(there) < 40:
        raise AssertionError(f"only {len(there)} methods were found")
    w = World(client, loop, f"python-{kind}{mount.replace('/', '-')}")
    for part in (assistants, threads, protocol, runs, crons, store):
        part(w)
    equal(sorted(there - called), [], "methods without a call")
    print(f"ok {len(called)} methods of the {kind} client at {mount or '/'}", flush=True)


def main(base):
    loop = asyncio.new_event_loop()
    for mount in ("", "/api/langgraph"):
        check("async", get_client(url=base + mount, api_key=None), loop, mount)
        check("sync", get_sync_client(url=base + mount, api_key=None), loop, mount)
    loop.close()


if __name__ == "__main__":
    main(sys.argv[1])
