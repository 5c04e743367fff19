"""Run options of the official Python SDK against the real binary: commands,
breakpoints, stream modes, delayed runs, batches, copies and time travel.

Usage: runs_check.py BASE_URL. Prints one line a check and exits with 1 at the
first that fails.
"""

import json
import sys
import uuid

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


NOTE = tool("write_file", description="Write a note", path="/mnt/user-data/outputs/note.txt", content="hello")
QUESTION = tool("ask_clarification", question="Which colour?", clarification_type="approach_choice", options=["Blue", "Red"])


def question(client):
    thread = client.threads.create()["thread_id"]
    values = client.runs.wait(thread, AGENT, input=scripted(QUESTION, {"text": "Red it is."}))
    equal(len(values["__interrupt__"]), 1, "interrupts of wait")
    state = client.threads.get_state(thread)
    equal(state["next"], ["__interrupt__"], "next while a question is open")
    equal([i["id"] for i in state["interrupts"]], [values["__interrupt__"][0]["id"]], "interrupts of the state")
    equal(state["values"]["messages"][-1]["tool_calls"][0]["function"]["name"], "ask_clarification", "the call of the question")
    values = client.runs.wait(thread, AGENT, command={"resume": "Red"})
    equal(values["messages"][-1]["content"], "Red it is.", "answer after the resume")
    equal(client.threads.get_state(thread)["next"], [], "next after the answer")


def question_by_state(client):
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, AGENT, input=scripted(QUESTION, {"text": "Blue."}))
    client.threads.update_state(thread, human("Blue"), as_node="user")
    values = client.runs.wait(thread, AGENT, input=None)
    equal(values["messages"][-1]["content"], "Blue.", "answer after update_state")


def waiting(client, mark, **more):
    """The rows of threads that wait for a person, as inboxes for LangChain's requests look for them."""
    return client.threads.search(status="interrupted", metadata={"inbox": mark}, limit=10, **more)


def inbox(client, native=False):
    for by_id in (False, True):
        mark = uuid.uuid4().hex
        thread = client.threads.create(metadata={"inbox": mark})["thread_id"]
        client.runs.wait(thread, AGENT, input=scripted(QUESTION, {"text": "Red it is."}))
        if native:  # its rows are light unless they are asked for more
            equal([(r["thread_id"], r["interrupts"]) for r in waiting(client, mark)], [(thread, {})], "a light row")
        (row,) = waiting(client, mark, **({"select": ["thread_id", "interrupts"]} if native else {}))
        (asked,) = [i for of_task in row["interrupts"].values() for i in of_task]
        (request,), (review,) = asked["value"]["action_requests"], asked["value"]["review_configs"]
        equal((request["name"], request["args"]["question"]), ("ask_clarification", "Which colour?"), "the request")
        equal((review["action_name"], review["allowed_decisions"]), ("ask_clarification", ["respond", "reject"]), "how it can be answered")
        equal(asked["value"]["question"], "Which colour?", "the question in its own shape")
        equal(client.threads.get(thread)["interrupts"], row["interrupts"], "interrupts of the thread")
        answer = {"decisions": [{"type": "respond", "message": "Red"}]}
        values = client.runs.wait(thread, AGENT, command={"resume": {asked["id"]: answer} if by_id else answer})
        equal([m["content"] for m in values["messages"][-2:]], ["Red", "Red it is."], "the decision and what came of it")
        equal(waiting(client, mark), [], "what waits behind the answer")


def breakpoint_(client):
    thread = client.threads.create()["thread_id"]
    parts = list(client.runs.stream(thread, AGENT, input=scripted(NOTE, {"text": "Done."}), interrupt_before=["tools"], stream_mode=["updates", "values"]))
    equal([p.data for p in parts if p.event == "updates"][-1], {"__interrupt__": []}, "update at the breakpoint")
    equal(client.threads.get_state(thread)["next"], ["tools"], "next at the breakpoint")
    equal(client.runs.list(thread)[0]["status"], "interrupted", "status of the run")
    values = client.runs.wait(thread, AGENT, input=None)
    equal(values["messages"][-1]["content"], "Done.", "answer behind the breakpoint")


def modes(client):
    thread = client.threads.create()["thread_id"]
    every = ["values", "updates", "messages", "messages-tuple", "custom", "tasks", "checkpoints", "debug", "events"]
    parts = list(client.runs.stream(thread, AGENT, input=scripted(NOTE, {"text": "Done."}), stream_mode=every))
    seen = {p.event for p in parts}
    for name in ("values", "updates", "messages", "messages/complete", "tasks", "checkpoints", "debug", "events"):
        if name not in seen:
            raise AssertionError(f"no {name} among {sorted(seen)}")
    run = parts[0].data["run_id"]
    middle = parts[len(parts) // 2]
    rest = list(client.runs.join_stream(thread, run, stream_mode=every, last_event_id=middle.id))
    at = max(i for i, p in enumerate(parts) if p.id == middle.id)
    equal([(p.id, p.event, p.data) for p in rest], [(p.id, p.event, p.data) for p in parts[at + 1:]], "frames behind the middle")


def later(client):
    thread = client.threads.create()["thread_id"]
    run = client.runs.create(thread, AGENT, input=human("echo 1 tokens at 0 tok/s"), after_seconds=3600)
    equal(client.threads.get(thread)["status"], "idle", "thread of a delayed run")
    client.runs.cancel(thread, run["run_id"], wait=True)
    equal(client.runs.get(thread, run["run_id"])["status"], "interrupted", "status of the cancelled run")
    made = client.runs.create_batch([{"assistant_id": AGENT, "input": human("echo 1 tokens at 0 tok/s"), "on_completion": "keep"} for _ in range(3)])
    equal(len({r["thread_id"] for r in made}), 3, "threads of a batch")
    for r in made:
        equal(len(client.runs.join(r["thread_id"], r["run_id"])["messages"]), 2, "messages of a run of the batch")


def travel(client):
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, AGENT, input=human("echo 1 tokens at 0 tok/s"))
    client.runs.wait(thread, AGENT, input=human("echo 2 tokens at 0 tok/s"))
    history = client.threads.get_history(thread, limit=50)
    first = next(h for h in history if len(h["values"]["messages"]) == 2 and not h["next"])
    forked = client.runs.wait(thread, AGENT, input=human("echo 3 tokens at 0 tok/s"), checkpoint_id=first["checkpoint"]["checkpoint_id"])
    equal(len(forked["messages"]), 4, "messages of the fork")
    children = [h for h in client.threads.get_history(thread, limit=50)
                if h["parent_checkpoint"] and h["parent_checkpoint"]["checkpoint_id"] == first["checkpoint"]["checkpoint_id"]]
    if len(children) < 2:
        raise AssertionError(f"{len(children)} children of the checkpoint")
    before = client.threads.get_history(thread, limit=50, before=first["checkpoint"])
    if any(h["checkpoint"]["checkpoint_id"] >= first["checkpoint"]["checkpoint_id"] for h in before):
        raise AssertionError("history before a checkpoint has it or newer ones")
    inputs = client.threads.get_history(thread, limit=50, metadata={"source": "input"})
    equal({h["metadata"]["source"] for h in inputs}, {"input"}, "sources of filtered history")
    copy = client.threads.copy(thread)
    if copy is not None:  # older clients return nothing
        equal(len(client.threads.get_state(copy["thread_id"])["values"]["messages"]), 4, "messages of the copy")


def helpers(client):
    prompt = "SCRIPT" + json.dumps({"turns": [tool("ls", description="look", path="/mnt/user-data/workspace"), {"text": "Nothing there."}]})
    sent = scripted(tool("task", description="Look", prompt=prompt, subagent_type="general-purpose"), {"text": "So it is."})
    for subgraphs in (False, True):
        thread = client.threads.create()["thread_id"]
        events = list(client.runs.stream(thread, AGENT, input=sent, context={"subagent_enabled": True},
                                         stream_mode=["custom", "updates", "messages-tuple"], stream_subgraphs=subgraphs))
        told = [e.data for e in events if e.event == "custom"]
        equal([e["type"] for e in told], ["task_started", "task_running", "task_running", "task_running", "task_completed"], "events of a helper")
        call = told[0]["task_id"]
        equal(told[0], {"type": "task_started", "task_id": call, "description": "Look", "model_name": told[0]["model_name"]}, "its start")
        equal([(e["message_index"], e["total_messages"], e["message"]["type"]) for e in told[1:4]], [(1, 1, "ai"), (2, 2, "tool"), (3, 3, "ai")], "its messages")
        equal([sorted(e) for e in told[1:4]], [sorted(("type", "task_id", "model_name", "message", "message_index", "total_messages", "usage"))] * 3, "their fields")
        equal(told[4], {"type": "task_completed", "task_id": call, "model_name": told[0]["model_name"], "result": "Nothing there.", "usage": told[3]["usage"]}, "its end")
        inside = sorted({e.event for e in events if "|" in e.event})
        equal(inside, [f"messages|tools:{call}", f"updates|tools:{call}"] if subgraphs else [], "frames of its namespace")


def main(base):
    for mount in ("", "/api/langgraph"):
        client = get_sync_client(url=base + mount, api_key=None)
        for check in (question, question_by_state, inbox, breakpoint_, modes, later, travel, helpers):
            check(client)
            print(f"ok {check.__name__} at {mount or '/'}", flush=True)
    inbox(get_sync_client(url=base + "/api", api_key=None), native=True)
    print("ok inbox at /api", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
