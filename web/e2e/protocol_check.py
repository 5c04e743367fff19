"""The thread protocol through the official Python SDK's threads.stream(), against
the real binary.

Usage: protocol_check.py BASE_URL. Prints one line a check and exits with 1 at the
first that fails.
"""

import asyncio
import json
import sys

from langgraph_sdk import get_client

AGENT = "lead_agent"
WAIT = 60


def human(text):
    return {"messages": [{"type": "human", "content": text}]}


def scripted(*turns):
    return human("SCRIPT" + json.dumps({"turns": list(turns)}))


def calling(name, **args):
    return {"tool_calls": [{"name": name, "args": args}]}


NOTE = "/mnt/user-data/outputs/note.txt"
NOTED = scripted(calling("write_file", description="Write a note", path=NOTE, content="hello"),
                 calling("read_file", description="Read it", path=NOTE), {"text": "It says hello."})
ASKING = scripted(calling("ask_clarification", question="Which colour?", clarification_type="missing_info"),
                  {"text": "Blue it is."})


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


async def each(items, read):
    """What read makes of each item; all are read while more come."""
    return await asyncio.gather(*[asyncio.ensure_future(read(item)) async for item in items])


async def pieces_of(message):
    return [piece async for piece in message.text]


async def messages(client):
    async with client.threads.stream(assistant_id=AGENT) as thread:
        run = await thread.run.start(input=human("echo 25 tokens at 100 tok/s"))
        pieces = await each(thread.messages, pieces_of)
        equal(["".join(p) for p in pieces], ["lorem " * 25], "text")
        if len(pieces[0]) < 2:
            raise AssertionError("the text did not come in pieces")
        values = await thread.output
        equal([m["type"] for m in values["messages"]], ["human", "ai"], "types of the messages")
        equal((await client.runs.get(thread.thread_id, run["run_id"]))["status"], "success", "status of the run")


async def reasoning_and_usage(client):
    async with client.threads.stream(assistant_id=AGENT) as thread:
        await thread.run.start(input=scripted({"reasoning": "Let me see.", "text": "Four."}))
        [message] = [message async for message in thread.messages]
        equal(await message.reasoning, "Let me see.", "reasoning")
        equal(await message.text, "Four.", "text")
        if not (await message.output).usage_metadata["output_tokens"]:
            raise AssertionError("no usage")


async def tool_calls(client):
    async with client.threads.stream(assistant_id=AGENT) as thread:
        await thread.run.start(input=NOTED)
        found = [(call.name, await call.output) for call in [call async for call in thread.tool_calls]]
        equal([name for name, _ in found], ["write_file", "read_file"], "calls")
        if "hello" not in str(found[1][1]):
            raise AssertionError(f"output: {found[1][1]!r}")


async def everything_at_once(client):
    async with client.threads.stream(assistant_id=AGENT) as thread:
        await thread.run.start(input=NOTED)
        seen = {}
        async for channel, item in thread.interleave_projections(["values", "messages", "tool_calls", "subgraphs"]):
            seen.setdefault(channel, []).append(item)
        equal(len(seen["messages"]), 3, "messages of the model")
        equal(len(seen["tool_calls"]), 2, "tool calls")
        equal(seen.get("subgraphs", []), [], "subgraphs: there is none")
        equal(len(seen["values"][-1]["messages"]), 6, "messages of the last state")


async def a_question(client):
    async with client.threads.stream(assistant_id=AGENT) as thread:
        await thread.run.start(input=ASKING)
        async for _ in thread.values:  # ends when the run waits
            pass
        equal(thread.interrupted, True, "interrupted")
        equal(thread.interrupts[0]["value"]["question"], "Which colour?", "what is asked")
        await client.threads.update_state(thread.thread_id, {"title": "Colours"})
        await client.threads.update(thread.thread_id, metadata={"seen": True})
        state = await client.threads.get_state(thread.thread_id)
        equal(state["interrupts"][0]["id"], thread.interrupts[0]["interrupt_id"], "id after a title")
        await thread.run.respond("blue")
        values = await thread.output
        equal(values["messages"][-1]["content"], "Blue it is.", "answer")


async def coming_back(client):
    thread_id = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread_id, AGENT, input=human("echo 3 tokens at 0 tok/s"))
    async with client.threads.stream(thread_id, assistant_id=AGENT) as thread:
        values = await thread.output
        equal(values["messages"][-1]["content"], "lorem " * 3, "state of a thread that is there")
        await thread.run.start(input=human("echo 5 tokens at 0 tok/s"))
        texts = [await message.text for message in [message async for message in thread.messages]]
        equal(texts[-1], "lorem " * 5, "text of the second run")


async def main(base):
    for mount in ("", "/api/langgraph", "/api"):
        client = get_client(url=base + mount)
        for check in (messages, reasoning_and_usage, tool_calls, everything_at_once, a_question, coming_back):
            await asyncio.wait_for(check(client), WAIT)
            print(f"ok {check.__name__} at {mount or '/'}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
