"""Extracts the parts that the adapters use from the platforms' published descriptions into ../contract/*.api.json.

usage: extract.py FOLDER, with telegram-bot-api.min.json (PaulSonOfLars/telegram-bot-api-spec),
discord-openapi-part.json (discord/discord-api-spec) and slack-web-api-part.json (slackapi/slack-api-specs) in it, and
the unpacked npm packages @slack/types, @slack/web-api, discord-api-types, dingtalk-stream and @wecom/aibot-node-sdk as
folders types, web-api, discord, dingtalk and wecom. `extract.py FOLDER PLATFORM …` writes those of some platforms only.
"""
import json, os, re, sys

import dts

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
            "MessageReactionUpdated", "ReactionTypeEmoji", "InputRichMessage", "Contact", "Location", "WebhookInfo",
            "MessageOriginUser", "MessageOriginChannel"}
    calls = []
    for m in ("getMe getUpdates setMyCommands sendMessage sendDocument sendPhoto sendChatAction getFile "
              "editMessageText editMessageMedia getWebhookInfo").split():
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


def read(*path):
    with open(os.path.join(FOLDER, *path)) as f:
        return f.read()


def version(package):
    return json.loads(read(package, "package.json"))["version"]


def slack():
    d, calls = load("slack-web-api-part.json"), []
    methods = {}
    for m in "auth.test chat.postMessage chat.update files.info reactions.add".split():
        (verb, op), = d["paths"]["/" + m].items()
        ps = [p for p in op["parameters"] if p["in"] in ("formData", "query") and p["name"] != "token"]
        known = {p["name"]: {"type": [p["type"]] if p["type"] != "string" else ["array", "boolean", "object", "string"]
                             if p["name"] in ("blocks", "attachments", "link_names", "as_user") else ["string"]}
                 for p in ps}
        methods[m] = {"method": verb.upper(), "path": "/" + m,
                      "body": {"type": ["object"], "fields": known, "open": m.startswith("chat."),
                               "required": [p["name"] for p in ps if p.get("required")]}}
    types = {}
    for m, verb, name in (("auth.test", "POST", "AuthTest"), ("apps.connections.open", "POST", "AppsConnectionsOpen"),
                          ("chat.postMessage", "POST", "ChatPostMessage"), ("chat.update", "POST", "ChatUpdate"),
                          ("reactions.add", "POST", "ReactionsAdd"), ("files.info", "GET", "FilesInfo"),
                          ("files.getUploadURLExternal", "POST", "FilesGetUploadURLExternal"),
                          ("files.completeUploadExternal", "POST", "FilesCompleteUploadExternal")):
        root = name + "Response"
        found = dts.interfaces(read("web-api", "dist", "types", "response", root + ".d.ts"))
        mine = dts.describe(found, [root])
        answer = {"type": ["object"], "fields": {k: v for k, v in mine[root]["fields"].items()},
                  "required": ["ok"] + {"chat.postMessage": ["channel", "ts"], "chat.update": ["channel", "ts"],
                                        "auth.test": ["user_id", "team_id", "url", "team", "user"]}.get(m, [])}
        keep = {"FilesInfo": ["File", "Shares", "Private"], "FilesCompleteUploadExternal": ["File"]}.get(name, [])
        own = {k: name + k for k in keep if k in mine}

        def rename(s):
            if "ref" in s:
                if s["ref"] in own:
                    s["ref"] = own[s["ref"]]
                else:
                    del s["ref"]
            for f in s.get("fields", {}).values():
                rename(f)
            if "items" in s:
                rename(s["items"])

        rename(answer)
        for k, v in own.items():
            rename(mine[k])
            types[v] = mine[k]
        call = methods.get(m) or {"method": verb, "path": "/" + m}
        if call["method"] != verb:  # its description is older than the SDK, which posts
            calls.append(call)
            call = {"method": verb, "path": "/" + m}
        call["answer"] = answer
        calls.append(call)
    found = dts.interfaces(read("types", "dist", "events", "message.d.ts"))
    found |= {k: v for k, v in dts.interfaces(read("types", "dist", "events", "app.d.ts")).items()
              if k == "AppMentionEvent"}
    events = {"message": "GenericMessageEvent", "message bot_message": "BotMessageEvent",
              "message file_share": "FileShareMessageEvent", "message me_message": "MeMessageEvent",
              "message message_changed": "MessageChangedEvent", "message message_deleted": "MessageDeletedEvent",
              "message thread_broadcast": "ThreadBroadcastMessageEvent", "app_mention": "AppMentionEvent"}
    found |= dts.interfaces(read("types", "dist", "events", "reaction.d.ts"))
    events |= {"message channel_join": "ChannelJoinMessageEvent", "reaction_added": "ReactionAddedEvent"}
    # its file_share lacks two fields that all messages have, and a generic message has no subtype at all
    types |= dts.describe(found, events.values())
    for name, kind in events.items():
        calls.append({"method": "EVENT", "path": name, "body": {"type": ["object"], "ref": kind}})
    source = "slackapi/slack-api-specs, Web API of 2021; @slack/web-api %s and @slack/types %s" % (
        version("web-api"), version("types"))
    save("slack", source, "2026-11-29", calls, types)


def discord():
    d, calls, types = load("discord-openapi-part.json"), [], {}
    USED = {"MessageResponse", "UserResponse", "UserPIIResponse", "MessageAttachmentResponse", "MessageReferenceResponse",
            "GatewayBotResponse", "GatewayBotSessionStartLimitResponse", "PrivateChannelResponse", "ThreadResponse",
            "GuildChannelResponse", "ThreadMetadataResponse", "PrivateApplicationResponse", "MessageSnapshotResponse",
            "MinimalContentMessageResponse", "MessageStickerItemResponse", "BasicMessageResponse"}

    def answer(s):
        """A value of an answer: objects are named, and those that a stand-in uses described once."""
        if "$ref" in s:
            name = s["$ref"].split("/")[-1]
            target = d["components"]["schemas"][name]
            if "properties" not in target:
                return answer(target) if name not in USED else {"type": ["object"]}
            if name in USED and name not in types:
                types[name] = {}
                types[name] = {"type": ["object"], "required": target.get("required", []),
                               "fields": {k: answer(v) for k, v in target["properties"].items()}}
            return {"type": ["object"], **({"ref": name} if name in USED else {})}
        kinds = s.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        if kinds and kinds != ["object"]:
            out = {"type": sorted(kinds)}
            if "items" in s:
                out["items"] = answer(s["items"])
            return out
        parts = [answer(p) for p in s.get("oneOf", s.get("anyOf", []))]
        if not parts:
            return {"type": ["object"] if kinds else dts.ANY}
        out = {"type": sorted({t for p in parts for t in p["type"]})}
        refs = [p for p in parts if "ref" in p]
        if len(refs) == 1:
            out["ref"] = refs[0]["ref"]
        elif refs:
            out["any"] = refs
        return out

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
                            ("GET", "/oauth2/applications/@me", ()),
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
        for status in ("200", "201"):
            schema = (op["responses"].get(status) or {}).get("content", {}).get("application/json", {}).get("schema")
            if schema:
                call["answer"] = answer(schema)
        ps = [p for p in op.get("parameters", []) if p["in"] == "query"]
        call["query"] = {"type": ["object"], "required": [p["name"] for p in ps if p.get("required")],
                         "fields": {p["name"]: {"type": ["scalar"]} for p in ps if p["name"] in own}}
        calls.append(call)
    # events hold the same objects as answers; the others are in the types of discord-api-types only
    calls.append({"method": "EVENT", "path": "MESSAGE_CREATE", "body": {"type": ["object"], "ref": "MessageResponse"}})
    found = dts.interfaces(read("discord", "gateway", "v10.d.ts"))
    for event, name in (("READY", "GatewayReadyDispatchData"),
                        ("MESSAGE_REACTION_ADD", "GatewayMessageReactionAddDispatchData")):
        if name in found:
            calls.append({"method": "EVENT", "path": event, "body": dts.describe({name: found[name]}, [name])[name]})
    save("discord", "discord/discord-api-spec, OpenAPI of API v10 of 2026-07-18; discord-api-types " +
         version("discord"), "2026-11-29", calls, types)


def dingtalk():
    found = dts.interfaces(read("dingtalk", "dist", "constants.d.ts"))
    types = dts.describe(found, ["RobotMessageBase", "RobotTextMessage"])
    for one in types.values():
        one["open"] = True  # it has what all messages have, and nothing of groups and files
    calls = [{"method": "EVENT", "path": path, "body": {"type": ["object"], "ref": kind}} for path, kind in (
        ("/v1.0/im/bot/messages/get", "RobotMessageBase"), ("/v1.0/im/bot/messages/get text", "RobotTextMessage"))]
    save("dingtalk", "dingtalk-stream of npm " + version("dingtalk"), "2026-11-29", calls, types)


def wecom():
    text = read("wecom", "dist", "types", "message.d.ts").replace("[key: string]: any;", "")
    text += read("wecom", "dist", "types", "event.d.ts").replace("event: EventContent", "event: Happened")
    text = re.sub(r"(MessageType|EventType)(\.\w+)?( \| string)?;", "string;", text)  # enumerations
    found = dts.interfaces(text + "interface Happened { eventtype: string; }")
    events = {"aibot_msg_callback " + kind.lower(): kind + "Message" for kind in (
        "Text", "Image", "Mixed", "Voice", "File", "Video")}
    events |= {"aibot_msg_callback": "BaseMessage", "aibot_event_callback": "EventMessage"}
    types = dts.describe(found, events.values())
    types["BaseMessage"]["open"] = True  # each kind has a field of its own
    calls = [{"method": "EVENT", "path": path, "body": {"type": ["object"], "ref": kind}} for path, kind in sorted(events.items())]
    save("wecom", "@wecom/aibot-node-sdk " + version("wecom"), "2026-11-29", calls, types)


for platform in (telegram, slack, discord, dingtalk, wecom):
    if len(sys.argv) == 2 or platform.__name__ in sys.argv[2:]:
        platform()
