"""LangGraph's RemoteGraph, which runs a graph of another server as if it were one
of its own, against the real binary at both mounts of the SDK.

Usage: remote_check.py BASE_URL. Prints one line a check and exits with 1 at the
first that fails.
"""

import asyncio
import json
import sys
import time

from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_sync_client

AGENT = "lead_agent"


def human(text):
    return {"messages": [{"type": "human", "content": text}]}


def scripted(*turns):
    return human("SCRIPT" + json.dumps({"turns": turns}))


def tool(name, **args):
    return {"tool_calls": [{"name": name, "args": args}]}


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def at(thread):
    return {"configurable": {"thread_id": thread}}


NOTE = tool("write_file", description="Write a note", path="/mnt/user-data/outputs/note.txt", content="hello")
QUESTION = tool("ask_clarification", question="Which colour?", clarification_type="approach_choice", options=["Blue", "Red"])


def invoke_leaves_no_chat(client, graph):
    before = client.threads.count()
    values = graph.invoke(scripted({"text": "Alone."}))
    equal(values["messages"][-1]["content"], "Alone.", "the answer of invoke")
    equal([m["type"] for m in values["messages"]], ["human", "ai"], "the messages of invoke")
    chunks = list(graph.stream(scripted({"text": "Streamed."}), stream_mode="values"))
    equal(chunks[-1]["messages"][-1]["content"], "Streamed.", "the last of its values")
    for _ in range(200):  # a thread goes once its readers have left
        if client.threads.count() == before:
            return

        time.sleep(0.05)
    equal(client.threads.count(), before, "threads after runs without one")


def state_of_a_thread(client, graph):
    thread = client.threads.create()["thread_id"]
    graph.invoke(scripted(NOTE, {"text": "Done."}), at(thread))
    state = graph.get_state(at(thread))
    equal(state.values["messages"][-1]["content"], "Done.", "values of the state")
    equal(state.next, (), "next of the state")
    equal(state.config["configurable"]["thread_id"], thread, "thread of the state")
    config = graph.update_state(at(thread), {"title": "Renamed"})
    equal(config["configurable"]["thread_id"], thread, "config of the update")
    equal(graph.get_state(at(thread)).values["title"], "Renamed", "title after the update")
    equal(graph.get_state(config).values["title"], "Renamed", "the state at the updated checkpoint")
    history = list(graph.get_state_history(at(thread), limit=3))
    equal(len(history), 3, "checkpoints of the history")
    equal(history[0].metadata["source"], "update", "source of the newest checkpoint")


def streams(client, graph):
    thread = client.threads.create()["thread_id"]
    got = [(part.event, part.data) for part in graph.stream(
        scripted(NOTE, {"text": "one two three"}), at(thread), stream_mode=["updates", "messages", "values"])]
    equal({mode for mode, _ in got}, {"updates", "messages", "values"}, "modes of the stream")
    text = "".join(data[0]["content"] for mode, data in got if mode == "messages" and data[0]["type"] == "AIMessageChunk")
    equal(text, "one two three", "text of the messages")
    equal([name for mode, data in got if mode == "updates" for name in data][:3], ["model", "tools", "model"], "nodes of the updates")
    equal(got[-1][0], "values", "the end of the stream")
    equal(got[-1][1]["messages"][-1]["content"], "one two three", "the last values")


def question(client, graph):
    thread = client.threads.create()["thread_id"]
    graph.invoke(scripted(QUESTION, {"text": "Red it is."}), at(thread))
    state = graph.get_state(at(thread))
    equal(len(state.interrupts), 1, "interrupts of the state")
    values = graph.invoke(Command(resume="Red"), at(thread))
    equal(values["messages"][-1]["content"], "Red it is.", "the answer after the resume")


def one_checkpoint(client, graph):
    thread = client.threads.create()["thread_id"]
    graph.invoke(scripted(NOTE, {"text": "Done."}), at(thread), durability="exit")
    runs = client.runs.list(thread)
    ours = [s for s in client.threads.get_history(thread, limit=100) if s["metadata"].get("run_id") == runs[0]["run_id"]]
    equal(len(ours), 1, "checkpoints of a run with durability exit")


def asynchronous(client, graph):
    async def run():
        thread = client.threads.create()["thread_id"]
        values = await graph.ainvoke(scripted({"text": "Later."}), at(thread))
        equal(values["messages"][-1]["content"], "Later.", "the answer of ainvoke")
        chunks = [c async for c in graph.astream(scripted({"text": "And again."}), at(thread), stream_mode="values")]
        equal(chunks[-1]["messages"][-1]["content"], "And again.", "the last values of astream")
        equal(len((await graph.aget_state(at(thread))).values["messages"]), 4, "messages of aget_state")

    asyncio.run(run())


def main(base):
    for mount in ["", "/api/langgraph"]:
        client = get_sync_client(url=base + mount, api_key=None)
        for check in [invoke_leaves_no_chat, state_of_a_thread, streams, question, one_checkpoint, asynchronous]:
            check(client, RemoteGraph(AGENT, url=base + mount, api_key=None))
            print(f"ok {mount or '/'} {check.__name__.replace('_', ' ')}", flush=True)


main(sys.argv[1].rstrip("/"))
