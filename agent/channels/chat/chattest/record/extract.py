"""Extracts what the adapters use from the platforms' published descriptions into ../contract/*.api.json.

usage: extract.py FOLDER, with telegram-bot-api.min.json (PaulSonOfLars/telegram-bot-api-spec),
discord-openapi-part.json (discord/discord-api-spec) and slack-web-api-part.json (slackapi/slack-api-specs) in it.
"""
import json, os, sys

FOLDER = sys.argv[1]
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "contract")


def load(name):
    with open(os.path.join(FOLDER, name)) as f:
        return json.load(f)


def save(platform, source, date, calls, types=None):
    with open(os.path.join(OUT, platform + ".api.json"), "w") as f:
        out = {"source": source, "date": date, "calls": calls, **({"types": types} if types else {})}
        json.dump(out, f, indent=1, sort_keys=True, ensure_ascii=False)
        f.write("\n")
    print(f"{platform}: {len(calls)} calls of {source}")


def telegram():
    d = load("telegram-bot-api.min.json")
    basic = {"Integer": "integer", "String": "string", "Boolean": "boolean", "Float": "number", "InputFile": "file"}
    limits = {("sendMessage", "text"): 4096, ("editMessageText", "text"): 4096, ("sendDocument", "caption"): 1024,
              ("sendPhoto", "caption"): 1024, ("BotCommand", "command"): 32, ("BotCommand", "description"): 256}
    types = {}

    def one(name):
        if name.startswith("Array of "):
            return {"type": ["array"], "items": any_of([name[9:]])}
        if name in basic:
            return {"type": [basic[name]]}
        kind(name)
        return {"type": ["object"], "ref": name}

    def any_of(names):
        shapes = [one(n) for n in names]
        out = {"type": sorted({t for s in shapes for t in s["type"]})}
        objects = [s for s in shapes if "ref" in s]
        if len(objects) == 1:
            out["ref"] = objects[0]["ref"]
        arrays = [s for s in shapes if "items" in s]
        if len(arrays) == 1:
            out["items"] = arrays[0]["items"]
        return out

    def fields(owner, fs):
        out = {}
        for f in fs:
            out[f["name"]] = any_of(f["types"])
            if (owner, f["name"]) in limits:
                out[f["name"]]["max"] = limits[owner, f["name"]]
        return {"type": ["object"], "fields": out, "required": [f["name"] for f in fs if f["required"]]}

    def kind(name):
        t = d["types"][name]
        if name in types:
            return
        types[name] = {"type": ["object"]}  # one of several kinds, or what no message of ours has
        if "fields" in t and "subtypes" not in t and name in USED:
            types[name] = fields(name, t["fields"])

    USED = {"Update", "Message", "Chat", "User", "MessageEntity", "ReplyParameters", "LinkPreviewOptions", "File",
            "BotCommand", "Document", "PhotoSize", "Voice", "Audio", "Video", "VideoNote", "Sticker", "TextQuote",
            "MessageReactionUpdated", "ReactionTypeEmoji", "InputRichMessage", "Contact", "Location"}
    calls = []
    for m in ("getMe getUpdates setMyCommands sendMessage sendDocument sendPhoto sendChatAction getFile "
              "editMessageText editMessageMedia setMessageReaction").split():
        spec = d["methods"][m]
        body = fields(m, spec.get("fields", []))
        # "Making requests" of the Bot API: JSON and both forms are read, files come as multipart only
        content = ["multipart/form-data"]
        if m not in ("sendDocument", "sendPhoto", "editMessageMedia"):
            content += ["application/json", "application/x-www-form-urlencoded"]
        calls.append({"method": "POST", "path": "/" + m, "content": content, "body": body,
                      "answer": any_of(spec["returns"])})
    calls.append({"method": "EVENT", "path": "Update", "body": one("Update")})
    save("telegram", "PaulSonOfLars/telegram-bot-api-spec, Bot API " + d["version"].split()[-1], d["release_date"],
         calls, types)


def slack():
    d, calls = load("slack-web-api-part.json"), []
    for m in "auth.test chat.postMessage chat.update files.info reactions.add".split():
        (verb, op), = d["paths"]["/" + m].items()
        ps = [p for p in op["parameters"] if p["in"] in ("formData", "query") and p["name"] != "token"]
        known = {p["name"]: {"type": [p["type"]] if p["type"] != "string" else ["array", "boolean", "object", "string"]
                             if p["name"] in ("blocks", "attachments", "link_names", "as_user") else ["string"]}
                 for p in ps}
        calls.append({"method": verb.upper(), "path": "/" + m,
                      "body": {"type": ["object"], "fields": known, "open": m.startswith("chat."),
                               "required": [p["name"] for p in ps if p.get("required")]}})
    save("slack", "slackapi/slack-api-specs, Web API", "2021", calls)


def discord():
    d, calls = load("discord-openapi-part.json"), []

    def resolve(s, depth=0):
        if "$ref" in s:
            return resolve(d["components"]["schemas"][s["$ref"].split("/")[-1]], depth)
        if "allOf" in s:
            parts = [resolve(p, depth) for p in s["allOf"]]
            out = {"type": ["object"], "fields": {}, "required": []}
            for p in parts:
                out["fields"].update(p.get("fields", {}))
                out["required"] += p.get("required", [])
            return out if out["fields"] else parts[0]
        if "oneOf" in s or "anyOf" in s:
            parts = [resolve(p, depth) for p in s.get("oneOf", s.get("anyOf"))]
            out = {"type": sorted({t for p in parts for t in p["type"]})}
            objects = [p for p in parts if "object" in p["type"]]
            if len(objects) == 1:
                out = {**objects[0], **out}
            if len({p.get("max") for p in parts if "string" in p["type"]}) == 1:
                out.update({"max": p["max"] for p in parts if "max" in p})
            return out
        kinds = s.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        if not kinds:
            kinds = ["array", "boolean", "integer", "null", "number", "object", "string"]
        if s.get("format") == "snowflake":
            kinds.append("integer")  # discord.py sends ids as numbers, and Discord's own examples do for attachments
        out = {"type": sorted(kinds)}
        for name in ("maxLength", "maxItems"):
            if name in s:
                out["max"] = s[name]
        if "properties" in s and depth < 3:
            out["fields"] = {k: resolve(v, depth + 1) for k, v in s["properties"].items()}
            out["required"] = s.get("required", [])
        if "items" in s and depth < 3:
            out["items"] = resolve(s["items"], depth + 1)
        return out

    for verb, path, own in (("GET", "/users/@me", ()), ("GET", "/gateway/bot", ()), ("GET", "/channels/{channel_id}", ()),
                            ("GET", "/channels/{channel_id}/messages", ("limit", "after")),
                            ("POST", "/channels/{channel_id}/messages", ()),
                            ("GET", "/channels/{channel_id}/messages/{message_id}", ()),
                            ("PATCH", "/channels/{channel_id}/messages/{message_id}", ()),
                            ("POST", "/channels/{channel_id}/messages/{message_id}/threads", ()),
                            ("POST", "/channels/{channel_id}/typing", ())):
        op = d["paths"][path][verb.lower()]
        call = {"method": verb, "path": path, "body": {"type": ["object"], "fields": {}, "required": []}}
        content = op.get("requestBody", {}).get("content", {})
        if content:
            body = resolve(content["application/json"]["schema"])
            body["fields"] = {k: v for k, v in body["fields"].items()
                              if k in ("content", "flags", "nonce", "enforce_nonce", "allowed_mentions", "attachments",
                                       "message_reference", "name", "auto_archive_duration")}
            if path.endswith("/messages"):
                body["fields"]["files[0]"] = {"type": ["file"]}
            if "content" in body["fields"]:
                body["fields"]["content"]["max"] = 2000  # for bots; 4000 is for subscribers
            call["body"] = body
        ps = [p for p in op.get("parameters", []) if p["in"] == "query"]
        call["query"] = {"type": ["object"], "required": [p["name"] for p in ps if p.get("required")],
                         "fields": {p["name"]: {"type": ["scalar"]} for p in ps if p["name"] in own}}
        calls.append(call)
    save("discord", "discord/discord-api-spec, OpenAPI of API v10", "2026-07-18", calls)


for platform in (telegram, slack, discord):
    platform()
