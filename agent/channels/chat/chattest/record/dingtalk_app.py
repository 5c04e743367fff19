"""The calls of the DingTalk adapter that dingtalk-stream makes: signing in, the stream, files and AI cards."""
import asyncio, json, os, threading
import dingtalk_stream
from dingtalk_stream import card_replier, chatbot, stream, utils
from aiohttp import WSMsgType, web
from wire import Recorder, run

done = asyncio.Event()
MESSAGE = {"msgId": "m", "msgtype": "text", "conversationId": "c", "conversationType": "1", "senderStaffId": "s",
           "senderNick": "Ada", "senderId": "x", "chatbotUserId": "b", "createAt": 1, "text": {"content": "words"},
           "robotCode": "ding", "sessionWebhook": ""}


async def socket(r, ws, request):
    r.frame("query", dict(request.query))
    await ws.send_json({"specVersion": "1.0", "type": "SYSTEM", "headers": {"topic": "ping", "messageId": "p"},
                        "data": "{\"opaque\":\"x\"}"})
    await ws.send_json({"specVersion": "1.0", "type": "CALLBACK", "data": json.dumps(MESSAGE), "headers": {
        "topic": "/v1.0/im/bot/messages/get", "messageId": "m", "contentType": "application/json", "time": "1"}})
    n = 0
    async for m in ws:
        if m.type == WSMsgType.TEXT:
            r.frame("answer", json.loads(m.data))
            n += 1
            if n == 2:
                done.set()


class Echo(dingtalk_stream.ChatbotHandler):
    async def process(self, callback):
        return dingtalk_stream.AckMessage.STATUS_OK, "OK"


def known(parse):
    """The names that a parser of the SDK compares each field with."""
    names = set()

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            names.add(other)
            return False

    class Fields(dict):
        def items(self):
            return [(Name("?"), None)]

    parse(Fields())
    return sorted(names)


def message():
    """What ChatbotMessage reads: each name with the kinds of values that it takes."""
    kinds = {"string": "1", "integer": 1, "boolean": True, "null": None, "object": {"a": 1}, "array": [{}]}
    parse, shapes = dingtalk_stream.ChatbotMessage.from_dict, {}

    def takes(name, value):
        try:
            parse({name: value})
        except Exception:
            return False
        return True

    for name in known(parse):
        shapes[name] = {"type": sorted(k for k, v in kinds.items() if takes(name, v)) or ["array", "object"]}
    shapes["msgtype"] = {"type": ["string"]}
    for kind, part in (("text", chatbot.TextContent), ("picture", chatbot.ImageContent), ("richText", chatbot.RichTextContent)):
        try:
            parse({"msgtype": kind})
        except KeyError as missing:  # each kind has a field of its own, which other kinds, unknown to the SDK, share
            one = shapes.setdefault(missing.args[0], {"type": ["object"], "fields": {}, "required": [], "open": True})
            one["fields"] |= {name: {"type": ["string"] if name != "richText" else ["array"]} for name in known(part.from_dict)}
    return {"type": ["object"], "fields": shapes, "required": []}


async def main():
    def answer(method, path, body):
        if path.endswith("/accessToken"):
            return {"accessToken": "a", "expireIn": 7200}
        if path.endswith("connections/open"):
            return {"endpoint": f"ws://127.0.0.1:{r.port}/connect", "ticket": "t"}
        return {"downloadUrl": "https://example.org", "result": {"deliverResults": []}, "success": True}

    r = Recorder("dingtalk", "dingtalk-stream", [], answer, headers=("x-acs-dingtalk-access-token",))
    r.socket = socket
    r.events[dingtalk_stream.ChatbotMessage.TOPIC] = message()
    r.optional = ("extensions", "localIp", "lastMessage", "searchSupport", "callbackRouteKey", "atUserIds", "recipients",
                  "extension")
    await r.start()
    for module in (utils, card_replier, chatbot, stream):
        if hasattr(module, "DINGTALK_OPENAPI_ENDPOINT"):
            module.DINGTALK_OPENAPI_ENDPOINT = r.url
    stream.DingTalkStreamClient.OPEN_CONNECTION_API = r.url + "/v1.0/gateway/connections/open"
    client = stream.DingTalkStreamClient(dingtalk_stream.Credential("ding", "secret"))
    handler = Echo()
    client.register_callback_handler(dingtalk_stream.ChatbotMessage.TOPIC, handler)
    threading.Thread(target=asyncio.run, args=(client.start(),), daemon=True).start()
    await asyncio.wait_for(done.wait(), 15)
    said = dingtalk_stream.ChatbotMessage.from_dict(MESSAGE)
    group = dingtalk_stream.ChatbotMessage.from_dict({**MESSAGE, "conversationType": "2"})

    async def cards():
        for m in (said, group):
            card = card_replier.AICardReplier(client, m)
            one = await card.async_create_and_deliver_card("t.schema", {"content": "x"}, callback_type="STREAM")
            await card.async_streaming(one, "content", "words", append=False, finished=False, failed=False)
            await card.async_put_card_data(one, {"content": "words"})
            # documented; the SDK passes on what it is given
            await card.async_put_card_data(one, {"content": "words"}, cardUpdateOptions={"updateCardDataByKey": True})

    await asyncio.to_thread(asyncio.run, cards())
    await asyncio.to_thread(handler.get_image_download_url, "code")
    await r.finish()
    os._exit(0)  # the stream would connect again for ever


run(main)
