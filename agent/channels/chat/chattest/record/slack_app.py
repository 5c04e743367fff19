"""Every call of the Slack adapter, made by slack-sdk, and the acknowledgement of Socket Mode."""
import asyncio, json
from slack_sdk.models.blocks import (DividerBlock, HeaderBlock, MarkdownTextObject, PlainTextObject, RawTextObject,
                                     RichTextBlock, RichTextElementParts, RichTextPreformattedElement, RichTextSectionElement,
                                     SectionBlock, TableBlock)
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient
from aiohttp import WSMsgType, web
from wire import Recorder, run

done = asyncio.Event()


async def socket(r, ws, request):
    await ws.send_json({"type": "hello", "num_connections": 1})
    await ws.send_json({"type": "events_api", "envelope_id": "e1", "payload": {"event": {"type": "message"}}})
    async for m in ws:
        if m.type == WSMsgType.TEXT:
            v = json.loads(m.data)
            v.pop("payload", None)
            r.frame("acknowledge", v)
            done.set()


async def main():
    def answer(method, path, body):
        if path == "/apps.connections.open":
            return {"ok": True, "url": f"ws://127.0.0.1:{r.port}/link"}
        if path == "/files.getUploadURLExternal":
            return {"ok": True, "upload_url": r.url + "/upload/F1", "file_id": "F1"}
        if path == "/upload/F1":
            return web.Response(text="OK - 1")
        return {"ok": True, "ts": "1.2", "channel": "C1", "team_id": "T1", "user_id": "U1", "files": [{"id": "F1"}],
                "file": {"id": "F1"}}

    r = Recorder("slack", "slack-sdk", [(r"^/upload/.*", "/upload/{file}")], answer, merge=True)
    r.socket = socket
    await r.start()
    web_client = AsyncWebClient(token="xoxb-1", base_url=r.url + "/")
    await web_client.auth_test()
    section = SectionBlock(text=MarkdownTextObject(text="*words*", verbatim=True), expand=True)
    parts, every = RichTextElementParts, RichTextElementParts.TextStyle(bold=True, italic=True, strike=True, code=True)
    cells = [RichTextSectionElement(elements=e) for e in (
        [parts.Text(text="a", style=every), parts.Text(text="b")],
        [parts.Link(url="https://example.org", text="a", style=every), parts.Link(url="https://example.org", text="a")])]
    table = TableBlock(rows=[[RawTextObject(text="a"), RawTextObject(text="b")],
                             [RichTextBlock(elements=[c]) for c in cells]],
                       column_settings=[{"is_wrapped": True}, {"align": "right", "is_wrapped": True}])
    blocks = [section, DividerBlock(), HeaderBlock(text=PlainTextObject(text="words", emoji=False)),
              RichTextBlock(elements=[RichTextPreformattedElement(
                  elements=[RichTextElementParts.Text(text="code")], border=0)]), table]
    for b in blocks:
        b.validate_json()
    more = dict(mrkdwn=True, parse="none", link_names=False)
    await web_client.chat_postMessage(channel="C1", text="words")
    await web_client.chat_postMessage(channel="C1", text="words", thread_ts="1.2", unfurl_links=False,
                                      unfurl_media=False, blocks=blocks, **more)
    await web_client.chat_update(channel="C1", ts="1.2", text="words")
    await web_client.chat_update(channel="C1", ts="1.2", text="words", blocks=blocks, **more)
    await web_client.chat_update(channel="C1", ts="1.2", text="words", blocks=[], **more)
    await web_client.reactions_add(channel="C1", name="eyes", timestamp="1.2")
    await web_client.files_info(file="F1")
    await web_client.files_upload_v2(content="words", filename="a.txt", title="a.txt", channel="C1")
    await web_client.files_upload_v2(content="words", filename="a.txt", title="a.txt", channel="C1", thread_ts="1.2")
    sockets = SocketModeClient(app_token="xapp-1", web_client=web_client)

    async def taken(client, request):
        await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

    sockets.socket_mode_request_listeners.append(taken)
    await sockets.connect()
    await asyncio.wait_for(done.wait(), 10)
    await sockets.close()
    await r.finish()


run(main)
