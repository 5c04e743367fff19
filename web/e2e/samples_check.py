"""The samples people know from the documentation of threads, with the client of
PyPI, as they stand there; only threads.list, which the client does not have, is
asked for by plain HTTP. Where a sample starts a run, this waits for its end.

Usage: samples_check.py BASE_URL. Prints one line a sample, exits with 1 at the
first that fails.
"""

import asyncio
import json
import sys
import urllib.parse
import urllib.request
import uuid
from datetime import datetime, timedelta, timezone

from langgraph_sdk import get_client

ASK = "SCRIPT" + json.dumps({"turns": [{"tool_calls": [{"name": "ask_clarification", "args": {
    "question": "Which year?", "clarification_type": "missing_info"}}]}, {"text": "Thank you."}]})


class Threads:
    """threads.list by plain HTTP."""

    def __init__(self, base):
        self.base = base

    async def list(self, **params):
        if "metadata" in params:
            params["metadata"] = json.dumps(params["metadata"])
        with urllib.request.urlopen(f"{self.base}/threads?{urllib.parse.urlencode(params)}") as answer:
            return json.load(answer)


async def finished(client, thread_id):
    for run in await client.runs.list(thread_id):
        await client.runs.join(thread_id, run["run_id"])


async def creating(client, base):
    thread = await client.threads.create()
    print(f"Thread ID: {thread['thread_id']}")
    thread = await client.threads.create(
        metadata={
            "user_id": "user-123",
            "project": "my-project",
            "tags": ["research", "analysis"]
        }
    )
    assert thread["metadata"]["tags"] == ["research", "analysis"]
    thread_id = str(uuid.uuid4())
    thread = await client.threads.create(thread_id=thread_id)
    assert thread["thread_id"] == thread_id
    try:
        await client.threads.create(thread_id=thread_id)
    except Exception as e:
        assert "409" in str(e) or "exists" in str(e), e
    else:
        raise AssertionError("an id was taken twice")


async def listing(client, base):
    listed = Threads(base)
    threads = await listed.list()
    assert threads
    threads = await listed.list(
        limit=20,
        offset=0
    )
    assert 0 < len(threads) <= 20
    threads = await listed.list(
        metadata={"user_id": "user-123"}
    )
    assert threads and all(t["metadata"]["user_id"] == "user-123" for t in threads)
    now = datetime.now(timezone.utc)
    for thread in threads:
        age = now - datetime.fromisoformat(thread["updated_at"])
        if age > timedelta(days=30):
            await client.threads.delete(thread["thread_id"])


async def details_and_state(client, base):
    thread_id = (await client.threads.create())["thread_id"]
    thread = await client.threads.get(thread_id)
    print(thread["thread_id"])
    print(thread["metadata"])
    print(thread["created_at"])
    print(thread["updated_at"])
    state = await client.threads.get_state(thread_id)
    print(state["values"]["messages"])
    print(state["values"]["title"])
    print(state["values"]["artifacts"])
    print(state["values"]["uploaded_files"])
    await client.threads.update_state(
        thread_id,
        values={
            "title": "Research Session",
            "artifacts": ["analysis.pdf", "report.md"]
        }
    )
    await client.threads.update_state(
        thread_id,
        values={
            "messages": [
                {"role": "user", "content": "Additional context here"}
            ]
        },
        as_node="user"
    )
    state = await client.threads.get_state(thread_id)
    assert state["values"]["title"] == "Research Session"
    assert state["values"]["artifacts"] == ["analysis.pdf", "report.md"]
    assert state["values"]["messages"][-1]["content"] == "Additional context here"


async def configuration(client, base):
    thread_id = (await client.threads.create())["thread_id"]
    await client.runs.create(
        thread_id=thread_id,
        assistant_id="lead_agent",
        input={"messages": [{"role": "user", "content": "Analyze this"}]},
        config={"configurable": {"thinking_enabled": True}}
    )
    await client.runs.create(
        thread_id=thread_id,
        assistant_id="lead_agent",
        input={"messages": [{"role": "user", "content": "Create a plan"}]},
        config={
            "configurable": {
                "is_plan_mode": True,
                "model_name": "claude-3-5-sonnet-20241022"
            }
        }
    )
    await finished(client, thread_id)
    state = await client.threads.get_state(thread_id)
    messages = state["values"]["messages"]
    for msg in messages:
        if msg["role"] == "user":
            print(f"User: {msg['content']}")
        elif msg["role"] == "assistant":
            if msg.get("tool_calls"):
                print(f"AI used {len(msg['tool_calls'])} tools")
            else:
                print(f"AI: {msg['content']}")
    assert [m["role"] for m in messages] == ["user", "assistant"] * 2
    assert all(r["status"] == "success" for r in await client.runs.list(thread_id))


async def interrupts(client, base):
    thread_id = (await client.threads.create())["thread_id"]
    await client.runs.create(thread_id=thread_id, assistant_id="lead_agent", input={"messages": [{"role": "user", "content": ASK}]})
    await finished(client, thread_id)
    question = None
    state = await client.threads.get_state(thread_id)
    if state["next"] == ["__interrupt__"]:
        # Handle clarification request
        last_message = state["values"]["messages"][-1]
        if last_message.get("tool_calls"):
            tool_call = last_message["tool_calls"][0]
            if tool_call["function"]["name"] == "ask_clarification":
                question = json.loads(tool_call["function"]["arguments"])["question"]
    assert question == "Which year?", state["next"]
    await client.threads.update_state(
        thread_id,
        values={
            "messages": [
                {"role": "user", "content": "Here's the clarification"}
            ]
        }
    )
    assert (await client.threads.get_state(thread_id))["next"] == ["model"]
    values = await client.runs.wait(thread_id, "lead_agent", input=None)
    assert values["messages"][-1]["content"] == "Thank you."


async def history(client, base):
    thread_id = (await client.threads.create())["thread_id"]
    # A thread begins with an empty checkpoint, as on LangGraph's server, since branching off
    # the first message needs it. The sample reads the last message of each of ten entries,
    # so it wants a thread whose newest ten do not reach back to the empty one.
    for word in ("one", "two", "three", "four", "five", "six"):
        await client.runs.wait(thread_id, "lead_agent", input={"messages": [{"role": "user", "content": word}]})
    history = await client.threads.get_history(thread_id, limit=10)
    for checkpoint in history:
        print(f"Step {checkpoint['step']}: {checkpoint['values']['messages'][-1]}")
    # Rewind to specific checkpoint
    await client.threads.update_state(
        thread_id,
        values={},
        checkpoint_id=checkpoint["checkpoint_id"]
    )
    assert len(history) == 10
    state = await client.threads.get_state(thread_id)
    assert state["values"]["messages"] == checkpoint["values"]["messages"]
    assert state["parent_checkpoint_id"] == checkpoint["checkpoint_id"]


async def lifecycle(client, base):
    # 1. Create thread
    thread = await client.threads.create(
        metadata={"project": "analysis"}
    )
    thread_id = thread["thread_id"]
    # 2. Start conversation
    await client.runs.create(
        thread_id=thread_id,
        assistant_id="lead_agent",
        input={
            "messages": [
                {"role": "user", "content": "Analyze sales data in /mnt/user-data/uploads/sales.csv"}
            ]
        },
        config={
            "configurable": {
                "is_plan_mode": True,
                "thinking_enabled": True
            }
        }
    )
    # 3. Get state
    state = await client.threads.get_state(thread_id)
    print(f"Title: {state['values']['title']}")
    print(f"Artifacts: {state['values']['artifacts']}")
    # 4. Continue conversation
    await client.runs.create(
        thread_id=thread_id,
        assistant_id="lead_agent",
        input={
            "messages": [
                {"role": "user", "content": "Now create a visualization"}
            ]
        }
    )
    # 5. Cleanup
    await client.threads.delete(thread_id)


async def main(base):
    for mount in ("", "/api/langgraph"):
        client = get_client(url=base + mount)
        for sample in (creating, listing, details_and_state, configuration, interrupts, history, lifecycle):
            await sample(client, base + mount)
            print(f"ok {sample.__name__} at {mount or '/'}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
