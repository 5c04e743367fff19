"""What clients keep on the server, through the official Python SDK: assistants,
the store, crons, and many threads at once.

Usage: records_check.py BASE_URL. Prints one line a check and exits with 1 at the
first that fails.
"""

import asyncio
import datetime
import sys

from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.errors import ConflictError, NotFoundError

from sdk_check import AGENT, equal, human, words


def refused(error, call, *args, **named):
    try:
        call(*args, **named)
    except error:
        return
    raise AssertionError(f"{call.__name__}{args} was not refused")


def assistants(client):
    made = client.assistants.create(AGENT, name="Mine", config={"configurable": {"reasoning_effort": "low"}}, context={"mode": "pro"}, metadata={"py": True}, description="d")
    one = made["assistant_id"]
    refused(ConflictError, client.assistants.create, AGENT, assistant_id=one)
    equal(client.assistants.create(AGENT, assistant_id=one, if_exists="do_nothing")["name"], "Mine", "name of the one that exists")
    equal(client.assistants.update(one, name="New", metadata={"more": 1})["version"], 2, "version after a change")
    equal([v["version"] for v in client.assistants.get_versions(one)], [2, 1], "versions")
    equal(client.assistants.set_latest(one, 1)["name"], "Mine", "name of the first version")
    equal([a["assistant_id"] for a in client.assistants.search(metadata={"py": True})], [one], "found assistants")
    equal(client.assistants.count(metadata={"py": True}), 1, "count of assistants")
    equal(client.assistants.get_subgraphs(one), {}, "subgraphs")
    thread = client.threads.create()["thread_id"]
    run = client.runs.create(thread, one, input=human(words(1)))
    equal(run["kwargs"]["config"]["configurable"], {"reasoning_effort": "low", "mode": "pro"}, "options of the run")
    client.runs.join(thread, run["run_id"])
    client.assistants.delete(one, delete_threads=True)
    refused(NotFoundError, client.assistants.get, one)
    refused(NotFoundError, client.threads.get, thread)


def store(client):
    place = ["e2e", "python"]
    client.store.put_item(place, "a", {"n": 1, "text": "green tea"}, ttl=60)
    client.store.put_item([*place, "deep"], "b", {"n": 2}, index=["n"])
    equal(client.store.get_item(place, "a")["value"], {"n": 1, "text": "green tea"}, "value")
    equal(client.store.get_item(place, "none"), None, "item that is not there")
    equal(len(client.store.search_items(place)["items"]), 2, "items below")
    equal([i["key"] for i in client.store.search_items(place, filter={"n": {"$gte": 2}})["items"]], ["b"], "filtered items")
    found = client.store.search_items(place, query="TEA coffee")["items"]
    equal([(i["key"], i["score"]) for i in found], [("a", 0.5)], "items by words")
    equal(client.store.list_namespaces(prefix=place)["namespaces"], [place, [*place, "deep"]], "namespaces")
    for key, namespace in (("a", place), ("b", [*place, "deep"])):
        client.store.delete_item(namespace, key)
    equal(client.store.search_items(place)["items"], [], "items after deleting")


def crons(client):
    thread = client.threads.create()["thread_id"]
    end = datetime.datetime(2099, 1, 1, tzinfo=datetime.timezone.utc)
    free = client.crons.create(AGENT, schedule="0 9 * * *", input=human("news"), timezone="Asia/Shanghai", end_time=end, metadata={"py": True}, on_run_completed="keep")
    equal(free["next_run_date"][11:16], "01:00", "next time in UTC")
    own = client.crons.create_for_thread(thread, AGENT, schedule="30 18 * * *", input=human("summary"))
    equal([c["cron_id"] for c in client.crons.search(thread_id=thread)], [own["cron_id"]], "crons of the thread")
    equal([c["cron_id"] for c in client.crons.search(metadata={"py": True}, select=["cron_id"])], [free["cron_id"]], "crons by metadata")
    equal(client.crons.count(thread_id=thread), 1, "count of crons")
    off = client.crons.update(free["cron_id"], enabled=False, end_time=None)
    equal((off["enabled"], off["next_run_date"], off["end_time"]), (False, None, None), "a cron that is off")
    equal(client.crons.update(free["cron_id"], enabled=True, schedule="15 9 * * *")["next_run_date"][11:16], "01:15", "next time after a change")
    for cron in (free, own):
        client.crons.delete(cron["cron_id"])
    equal(client.crons.count(thread_id=thread), 0, "crons after deleting")


def threads(client):
    made = client.threads.create(graph_id=AGENT, metadata={"py": "records"}, supersteps=[
        {"updates": [{"values": {"messages": [{"type": "human", "content": "one"}]}, "as_node": "__start__"}]},
        {"updates": [{"values": {"messages": [{"type": "ai", "content": "two"}]}, "as_node": "model"}]},
    ])["thread_id"]
    equal(len(client.threads.get_history(made)), 2, "checkpoints of two supersteps")
    found = client.threads.search(metadata={"py": "records"}, select=["thread_id"], extract={"last": "values.messages[-1].content"})
    equal(found, [{"thread_id": made, "extracted": {"last": "two"}}], "extracted values")
    equal(client.threads.count(metadata={"py": "records"}), 1, "count of threads")
    equal(client.threads.prune([made], strategy="keep_latest")["pruned_count"], 1, "pruned threads")
    equal(len(client.threads.get_state(made)["values"]["messages"]), 2, "messages after pruning")
    equal(client.threads.prune([made])["pruned_count"], 1, "deleted threads")
    refused(NotFoundError, client.threads.get, made)


async def follow(url):
    client = get_client(url=url, api_key=None)
    thread = (await client.threads.create())["thread_id"]
    seen = []

    async def read():
        async for part in await client.threads.join_stream(thread, stream_mode="lifecycle", last_event_id="-1"):
            seen.append(part.event)
            if seen.count("run_done") == 2:
                return

    reading = asyncio.create_task(read())
    for _ in range(2):
        await client.runs.wait(thread, AGENT, input=human(words(2)))
    await asyncio.wait_for(reading, 60)
    equal(seen, ["metadata", "run_done"] * 2, "what a whole thread's reader sees")


def main(base):
    for mount in ("", "/api/langgraph"):
        client = get_sync_client(url=base + mount, api_key=None)
        for check in (assistants, store, crons, threads):
            check(client)
            print(f"ok {check.__name__} at {mount or '/'}", flush=True)
        asyncio.run(follow(base + mount))
        print(f"ok follow at {mount or '/'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
