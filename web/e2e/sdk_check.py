"""The official Python SDK against the real binary: what its users do every day.

Usage: sdk_check.py BASE_URL. Prints one line a check and exits with 1 at the
first that fails.
"""

import asyncio
import sys

from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.errors import ConflictError, NotFoundError

AGENT = "lead_agent"


def human(text):
    return {"messages": [{"type": "human", "content": text}]}


def words(n, rate=0):
    return f"echo {n} tokens at {rate} tok/s"


def chunks(parts):
    found = (p.data[0] for p in parts if p.event == "messages")
    return [m for m in found if m["type"].lower().startswith("ai")]


def text_of(parts):
    return "".join(m["content"] for m in chunks(parts))


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def assistants(client):
    found = client.assistants.search(graph_id=AGENT)
    equal(found[0]["graph_id"], AGENT, "graph of the assistant")
    equal(client.assistants.get(found[0]["assistant_id"])["assistant_id"], found[0]["assistant_id"], "assistant by id")


def stream(client):
    thread = client.threads.create(metadata={"purpose": "stream"})
    parts = list(client.runs.stream(thread["thread_id"], AGENT, input=human(words(25)), stream_mode=["messages-tuple", "values", "updates"]))
    equal(parts[0].event, "metadata", "first event")
    equal([p.data for p in parts if p.event == "error"], [], "errors")
    equal(text_of(parts), "lorem " * 25, "streamed text")
    values = [p.data for p in parts if p.event == "values"][-1]
    equal([m["type"] for m in values["messages"]], ["human", "ai"], "types of the messages")
    equal(values["messages"][1]["id"], chunks(parts)[0]["id"], "id of the answer")
    if not any(p.event == "updates" for p in parts):
        raise AssertionError("no updates were streamed")


def wait_state_history(client):
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, AGENT, input=human(words(3)))
    values = client.runs.wait(thread, AGENT, input=human(words(4)))
    equal(len(values["messages"]), 4, "messages after two runs")
    state = client.threads.get_state(thread)
    equal(state["next"], [], "next of an idle thread")
    history = client.threads.get_history(thread, limit=50)
    ids = [h["checkpoint"]["checkpoint_id"] for h in history]
    equal(ids[0], state["checkpoint"]["checkpoint_id"], "newest checkpoint")
    equal(ids, sorted(set(ids), reverse=True), "order of history")
    client.threads.update_state(thread, {"title": "My own title"})
    equal(client.threads.get_state(thread)["values"]["title"], "My own title", "title after update_state")


def queue(client):
    thread = client.threads.create()["thread_id"]
    one = client.runs.create(thread, AGENT, input=human(words(250, 50)))  # at work when the next ones come
    try:
        client.runs.create(thread, AGENT, input=human(words(1)), multitask_strategy="reject")
    except ConflictError:
        pass
    else:
        raise AssertionError("a second run was not rejected")
    two = client.runs.create(thread, AGENT, input=human(words(2)), multitask_strategy="enqueue")
    equal(len(client.runs.join(thread, two["run_id"])["messages"]), 4, "messages after the queued run")
    equal(client.runs.get(thread, one["run_id"])["status"], "success", "status of the first run")


def cancel(client):
    thread = client.threads.create()["thread_id"]
    run = client.runs.create(thread, AGENT, input=human(words(3000, 100)))
    seen = []
    for part in client.runs.join_stream(thread, run["run_id"], stream_mode="messages-tuple", last_event_id="-1"):
        seen.append(part)
        if len(chunks(seen)) >= 10:
            break
    client.runs.cancel(thread, run["run_id"], wait=True)
    equal(client.runs.get(thread, run["run_id"])["status"], "interrupted", "status after cancel")
    last = client.threads.get_state(thread)["values"]["messages"][-1]
    equal(last["type"], "ai", "last message after cancel")
    if not 0 < len(last["content"]) < 3000 * 6:
        raise AssertionError(f"{len(last['content'])} bytes of the partial answer were kept")


def search_delete(client):
    made = [client.threads.create(metadata={"mark": "py", "n": n})["thread_id"] for n in range(3)]
    equal(len(client.threads.search(metadata={"mark": "py"}, limit=10)), 3, "found threads")
    equal(len(client.threads.search(metadata={"mark": "py"}, limit=2, offset=2)), 1, "second page")
    client.threads.update(made[0], metadata={"extra": True})
    equal(client.threads.get(made[0])["metadata"]["extra"], True, "patched metadata")
    for thread in made:
        client.threads.delete(thread)
    try:
        client.threads.get(made[0])
    except NotFoundError:
        pass
    else:
        raise AssertionError("a deleted thread is still there")


async def resume(url):
    client = get_client(url=url, api_key=None)
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread, AGENT, input=human(words(60, 50)), stream_mode=["messages-tuple", "values"])
    seen = []
    async for part in client.runs.join_stream(thread, run["run_id"], stream_mode="messages-tuple", last_event_id="-1"):
        seen.append(part)
        if len(chunks(seen)) >= 20:
            break
    async for part in client.runs.join_stream(thread, run["run_id"], last_event_id=seen[-1].id):
        seen.append(part)
    equal(text_of(seen), "lorem " * 60, "text over two connections")


def main(base):
    for mount in ("", "/api/langgraph"):
        client = get_sync_client(url=base + mount, api_key=None)
        for check in (assistants, stream, wait_state_history, queue, cancel, search_delete):
            check(client)
            print(f"ok {check.__name__} at {mount or '/'}", flush=True)
        asyncio.run(resume(base + mount))
        print(f"ok resume at {mount or '/'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
