"""The examples of docs/api.md in Python, as they stand, with the official SDK.

Usage: docs_check.py BASE_URL. Prints one line an example and exits with 1 at the
first that fails.
"""

import asyncio
import contextlib
import io
import pathlib
import re
import sys
import textwrap

from langgraph_sdk import get_client

PAGE = pathlib.Path(__file__).parent.parent.parent / "docs" / "api.md"


async def main(base):
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    if not examples:
        raise AssertionError(f"{PAGE} has none")
    client = get_client(url=base)
    thread_id = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread_id, "lead_agent", input={"messages": [{"type": "human", "content": "echo 5 tokens at 0 tok/s"}]})
    for code in examples:
        names = {}
        exec("async def example(client, thread_id):\n" + textwrap.indent(code, "    "), names)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            await names["example"](client, thread_id)
        if not re.search(r"^Step \d+: .*echo 5", said.getvalue(), re.M):
            raise AssertionError(f"{code} printed {said.getvalue()!r}")
        print("ok", code.strip().splitlines()[0])


asyncio.run(main(sys.argv[1]))
