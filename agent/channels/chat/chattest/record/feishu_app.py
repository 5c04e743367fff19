"""Every call of the Feishu adapter, made by lark-oapi."""
import asyncio, io, json, os
import lark_oapi as lark
from lark_oapi.api.application.v6 import ListScopeRequest
from lark_oapi.api.im.v1 import *
from aiohttp import web
from wire import Recorder, run


def named(name):
    f = io.BytesIO(b"x")
    f.name = name
    return f


def calls(url):
    client = lark.Client.builder().app_id("cli_a").app_secret("s").domain(url).build()
    im = client.im.v1
    card = json.dumps({"elements": []})
    for key in (None, "k"):
        body = CreateMessageRequestBody.builder().receive_id("oc_1").msg_type("interactive").content(card)
        answer = ReplyMessageRequestBody.builder().msg_type("interactive").content(card)
        if key:
            body, answer = body.uuid(key), answer.uuid(key)
        im.message.create(CreateMessageRequest.builder().receive_id_type("chat_id").request_body(body.build()).build())
        im.message.reply(ReplyMessageRequest.builder().message_id("om_1").request_body(answer.build()).build())
    im.message.patch(PatchMessageRequest.builder().message_id("om_1").request_body(
        PatchMessageRequestBody.builder().content(card).build()).build())
    im.message_reaction.create(CreateMessageReactionRequest.builder().message_id("om_1").request_body(
        CreateMessageReactionRequestBody.builder().reaction_type(Emoji.builder().emoji_type("OK").build()).build()).build())
    im.file.create(CreateFileRequest.builder().request_body(CreateFileRequestBody.builder().file_type("stream").file_name(
        "a.txt").file(named("a.txt")).build()).build())
    im.image.create(CreateImageRequest.builder().request_body(CreateImageRequestBody.builder().image_type(
        "message").image(named("a.png")).build()).build())
    for kind in ("file", "image"):
        im.message_resource.get(GetMessageResourceRequest.builder().message_id("om_1").file_key("key_1").type(kind).build())
    client.application.v6.scope.list(ListScopeRequest.builder().build())
    client.request(lark.BaseRequest.builder().http_method(lark.HttpMethod.GET).uri("/open-apis/bot/v3/info").token_types(
        {lark.AccessTokenType.TENANT}).build())
    try:
        lark.ws.Client("cli_a", "s", domain=url)._get_conn_url()
    except Exception as e:
        print("feishu: endpoint:", e)


def described(kind, types):
    """The fields of a class of the SDK. It reads none of them as a must, and numbers as they come, which is as text."""
    if getattr(kind, "__origin__", None) is list:
        return {"type": ["array"], "items": described(kind.__args__[0], types)}
    if kind in (str, int, bool):
        return {"type": {str: ["string"], int: ["integer", "string"], bool: ["boolean"]}[kind]}
    if kind.__name__ not in types:
        one = types[kind.__name__] = {"type": ["object"], "fields": {}, "required": []}
        for name, value in vars(kind()).items():
            one["fields"][name] = described(kind._types.get(name, dict if value == {} else str), types)
    return {"type": ["object"], "ref": kind.__name__}


async def main():
    def answer(method, path, body):
        if path.endswith("tenant_access_token/internal"):
            return {"code": 0, "msg": "ok", "tenant_access_token": "t-1", "expire": 7200}
        if path.endswith("/ws/endpoint"):
            return {"code": 0, "msg": "", "data": {"URL": "ws://127.0.0.1:1/?device_id=1&service_id=1", "ClientConfig": {}}}
        return {"code": 0, "msg": "ok", "data": {}}

    ids = [(r"/om_1", "/{message}"), (r"/key_1", "/{key}")]
    r = await Recorder("feishu", "lark-oapi", ids, answer).start()
    r.optional, r.files = ("duration",), ("file", "image")
    await asyncio.to_thread(calls, r.url)
    r.events["im.message.receive_v1"] = described(P2ImMessageReceiveV1, r.types)
    await r.finish()
    os._exit(0)  # the SDK leaves a thread behind


run(main)
