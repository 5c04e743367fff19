"""OpenAI's own SDK for Python against the real binary: an agent as a model.

Usage: openai_check.py BASE_URL. Prints one line a check and exits with 1 at the first that fails.
"""

import asyncio
import json
import sys

import openai

MODEL = "lead_agent"


def scripted(*turns):
    return {"role": "user", "content": "SCRIPT" + json.dumps({"turns": turns})}


def check(what, ok, seen=""):
    print(("ok   " if ok else "FAIL ") + what, seen if not ok else "")
    if not ok:
        sys.exit(1)


def whole(client):
    check("models", MODEL in [m.id for m in client.models.list()])
    messages = [{"role": "system", "content": "Be brief."}, scripted({"text": "One."})]
    first = client.chat.completions.with_raw_response.create(model=MODEL, messages=messages)
    said = first.parse().choices[0].message
    check("a completion", said.content == "One.", said)
    messages += [said.model_dump(exclude_none=True), scripted({"text": "Two."})]
    second = client.chat.completions.with_raw_response.create(model=MODEL, messages=messages)
    check("goes on in its thread", first.headers["x-thread-id"] == second.headers["x-thread-id"])
    check("usage", second.parse().usage.total_tokens > 0)
    text, usage = "", None
    for chunk in client.chat.completions.create(
            model=MODEL, stream=True, stream_options={"include_usage": True}, messages=[scripted({"text": "Blue is the sky."})]):
        text += "".join(c.delta.content or "" for c in chunk.choices)
        usage = chunk.usage or usage
    check("a stream", text == "Blue is the sky." and usage.total_tokens > 0, text)
    steps = client.chat.completions.create(model=MODEL, messages=[scripted(
        {"tool_calls": [{"name": "ls", "args": {"description": "look around", "path": "/mnt/user-data/workspace"}}]}, {"text": "Nothing."})])
    check("steps are reasoning", "look around" in steps.choices[0].message.reasoning_content, steps)
    one = client.responses.create(model=MODEL, input="SCRIPT" + json.dumps({"turns": [{"text": "Uno."}]}))
    two = client.responses.create(model=MODEL, input="SCRIPT" + json.dumps({"turns": [{"text": "Due."}]}), previous_response_id=one.id)
    check("responses", (one.output_text, two.output_text) == ("Uno.", "Due."), two)
    try:
        client.chat.completions.create(model="gpt-4o", messages=[scripted({"text": "x"})])
        check("an unknown model is refused", False)
    except openai.NotFoundError as err:
        check("an unknown model is refused", err.code == "model_not_found", err)


async def side_by_side(client):
    asked = [client.chat.completions.create(model=MODEL, messages=[scripted({"text": f"Number {n}."})]) for n in range(8)]
    said = [r.choices[0].message.content for r in await asyncio.gather(*asked)]
    check("eight at once", said == [f"Number {n}." for n in range(8)], said)


def main():
    base = sys.argv[1] + "/v1"
    whole(openai.OpenAI(base_url=base, api_key="none", max_retries=0))
    asyncio.run(side_by_side(openai.AsyncOpenAI(base_url=base, api_key="none", max_retries=0)))


main()
