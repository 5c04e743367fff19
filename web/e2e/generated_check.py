"""A job by a client that openapi-python-client made: a thread, a run, its result, its state, an upload, an artifact, and away with it.

Usage: generated_check.py BASE_URL FOLDER, where FOLDER has the package fawn_client. Prints one line a check; an exception ends it.
"""

import json
import sys
from io import BytesIO

base, folder = sys.argv[1:]
sys.path.insert(0, folder)

from fawn_client import Client  # noqa: E402
from fawn_client import models as m  # noqa: E402
from fawn_client.api.files import get_artifact, list_uploads, upload_files  # noqa: E402
from fawn_client.api.runs import create_run, get_run, join_run  # noqa: E402
from fawn_client.api.state_and_history import get_state  # noqa: E402
from fawn_client.api.threads import create_thread, delete_thread, get_thread, search_threads  # noqa: E402
from fawn_client.types import File  # noqa: E402

client = Client(base_url=base, timeout=60)


def check(what, ok, seen=""):
    if not ok:
        raise AssertionError(f"{what}: {seen!r}")
    print("ok  " + what)


def body(cls, **members):
    return cls.from_dict(members)


thread = create_thread.sync(client=client, body=body(m.CreateThreadBody, metadata={"topic": "deer", "count": 7}))
check("a thread", thread.metadata["topic"] == "deer" and str(thread.status) == "idle", thread)
script = {"turns": [{"tool_calls": [{"name": "write_file", "args": {"description": "write", "path": "/mnt/user-data/outputs/deer.txt",
                                                                    "content": "seven"}}]}, {"text": "Seven deer."}]}
run = create_run.sync(thread.thread_id, client=client, body=body(
    m.RunCreate, assistant_id="lead_agent", input={"messages": [{"role": "user", "content": "SCRIPT" + json.dumps(script)}]},
    metadata={"from": "generated"}, config={"configurable": {"thinking_enabled": False}}))
check("a run", run.metadata["from"] == "generated", run)
result = join_run.sync(thread.thread_id, run.run_id, client=client)
check("its result", result.messages[-1].content == "Seven deer.", result)
ended = get_run.sync(thread.thread_id, run.run_id, client=client)
check("the run", str(ended.status) == "success", ended)
state = get_state.sync(thread.thread_id, client=client)
calls = [c for message in state.values.messages for c in (message.tool_calls or [])]
check("the state", state.next_ == [] and calls[0].name == "write_file", state)
found = search_threads.sync(client=client, body=body(m.SearchThreadsBody, metadata={"topic": "deer"}, limit=5))
check("a search", found[0].thread_id == thread.thread_id, found)
stored = upload_files.sync(thread.thread_id, client=client,
                           body=m.UploadFilesBody(files=[File(payload=BytesIO(b"hello"), file_name="note.txt", mime_type="text/plain")]))
check("an upload", stored.files[0].filename == "note.txt", stored)
uploads = list_uploads.sync(thread.thread_id, client=client)
check("the uploads", uploads.count == 1, uploads)
file = get_artifact.sync_detailed(thread.thread_id, "mnt/user-data/outputs/deer.txt", client=client)
check("an artifact", file.status_code == 200 and file.content == b"seven", file)
gone = delete_thread.sync_detailed(thread.thread_id, client=client)
check("delete", gone.status_code == 204, gone)
missing = get_thread.sync(thread.thread_id, client=client)
check("a refusal", bool(missing.detail), missing)
print("done")
