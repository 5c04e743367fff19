"""Records what an SDK sends: a local server in place of the platform, and what its requests have in common."""
import asyncio, datetime, importlib.metadata, json, os, re
from aiohttp import WSMsgType, web

KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def shape(samples):
    """Merges values into one description: fields of all of them are allowed, those in each of them are required."""
    out, objects, items = {"type": []}, [], []
    for v in samples:
        if isinstance(v, dict):
            kind = "object"
            objects.append(v)
        elif isinstance(v, list):
            kind = "array"
            items += v
        else:
            kind = v.kind if isinstance(v, Kind) else KINDS[type(v)]
        if kind not in out["type"]:
            out["type"].append(kind)
    out["type"].sort()
    if objects:
        names = sorted({k for o in objects for k in o})
        out["fields"] = {k: shape([o[k] for o in objects if k in o]) for k in names}
        out["required"] = [k for k in names if all(k in o for o in objects)]
    if items:
        out["items"] = shape(items)
    return out


def relax(s, optional):
    for name, f in s.get("fields", {}).items():
        if name in optional:
            s["required"].remove(name) if name in s["required"] else None
        relax(f, optional)


class Kind:
    def __init__(self, kind):
        self.kind = kind


def field(text):
    """The value of a form's field: lists and objects are JSON there, of all else only the text is known."""
    try:
        v = json.loads(text)
    except ValueError:
        v = None
    return v if isinstance(v, (dict, list)) else Kind("scalar")


class Recorder:
    def __init__(self, platform, package, ids=(), answer=None, headers=("Authorization",), merge=False):
        self.platform, self.package, self.ids, self.answer = platform, package, ids, answer
        self.headers, self.merge, self.calls, self.frames = headers, merge, {}, {}
        self.files = ()  # parts that are files, where the SDK names none
        self.optional = ()  # fields that the SDK always sends and the platform documents as optional
        self.events, self.types = {}, {}  # as the SDK's own classes read them
        self.socket = None  # async (recorder, ws), which plays the platform

    async def handle(self, request):
        if request.headers.get("Upgrade", "").lower() == "websocket":
            ws = web.WebSocketResponse()
            await ws.prepare(request)
            await self.socket(self, ws, request)
            return ws
        path = request.path
        for pattern, name in self.ids:
            path = re.sub(pattern, name, path)
        raw, kind = None, request.content_type if "Content-Type" in request.headers else ""
        form = {}
        if kind == "application/json":
            text = (await request.text())
            raw = json.loads(text) if text else None
        elif kind == "application/x-www-form-urlencoded":
            form = {k: field(v) for k, v in (await request.post()).items()}
        elif kind == "multipart/form-data":
            for k, v in (await request.post()).items():
                if not isinstance(v, str):
                    k, v = "{file}" if k.startswith("attached") else k, Kind("file")
                elif k in self.files:
                    v = Kind("file")
                form[k] = v if isinstance(v, Kind) else field(v)
            kind = kind if form else ""
            if "payload_json" in form:
                raw = {**form.pop("payload_json"), **form}
        elif not kind and (await request.text()).startswith("{"):
            kind, raw = "application/json", json.loads(await request.text())
        else:
            await request.read()
        if raw is None:
            raw = form
        c = self.calls.setdefault((request.method, path), {"content": [], "headers": {}, "query": [], "body": []})
        if kind not in c["content"]:
            c["content"].append(kind)
        for h in self.headers:
            if h in request.headers:
                c["headers"][h] = request.headers[h].split(" ")[0] if h == "Authorization" else "*"
        query = {k: field(v) for k, v in request.query.items()}
        if self.merge and not kind.endswith("json"):  # arguments of a form may stand in either place
            query, raw = {}, {**query, **raw}
        c["query"].append(query)
        c["body"].append(raw)
        result = self.answer(request.method, path, raw)
        if isinstance(result, web.Response):
            return result
        return web.Response(body=json.dumps(result).encode(), headers={"Content-Type": "application/json"})

    def frame(self, name, value):
        self.frames.setdefault(name, []).append(value)

    async def start(self):
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{tail:.*}", self.handle)
        self.runner = web.AppRunner(app, shutdown_timeout=1)  # sockets that an SDK leaves open
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def finish(self):
        calls = []
        for (method, path), c in sorted(self.calls.items(), key=lambda kv: kv[0][::-1]):
            calls.append({"method": method, "path": path, "content": sorted(c["content"]), "headers": c["headers"],
                          "query": shape(c["query"]), "body": shape(c["body"])})
        for name, values in sorted(self.frames.items()):
            calls.append({"method": "FRAME", "path": name, "body": shape(values)})
        for c in calls:
            relax(c["body"], self.optional)
        calls += [{"method": "EVENT", "path": name, "body": body} for name, body in sorted(self.events.items())]
        out = {"source": f"{self.package} {importlib.metadata.version(self.package)}",
               "date": datetime.date.today().isoformat(), "calls": calls, **({"types": self.types} if self.types else {})}
        at = os.path.join(os.path.dirname(__file__), "..", "contract", self.platform + ".sdk.json")
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, "w") as f:
            json.dump(out, f, indent=1, ensure_ascii=False, sort_keys=True)
            f.write("\n")
        print(f"{self.platform}: {len(calls)} calls of {out['source']}", flush=True)
        await self.runner.cleanup()


def run(main):
    asyncio.run(asyncio.wait_for(main(), 60))
