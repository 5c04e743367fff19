"""Every frame of the WeCom adapter, made by wecom-aibot-sdk."""
import asyncio, json
from aiohttp import WSMsgType
from wecom_aibot_sdk import WSClient
from wire import Recorder, run


async def socket(r, ws, request):
    async for m in ws:
        if m.type == WSMsgType.TEXT:
            v = json.loads(m.data)
            r.frame(v["cmd"], v)
            body = {"upload_id": "u", "media_id": "m", "type": "file", "created_at": "1", "uploaded_chunks": 1}
            await ws.send_json({"headers": v["headers"], "errcode": 0, "errmsg": "ok", "body": body})


async def main():
    r = Recorder("wecom", "wecom-aibot-sdk")
    r.socket = socket
    r.optional = ("chat_type",)
    await r.start()
    client = WSClient(bot_id="b", secret="s", ws_url=f"ws://127.0.0.1:{r.port}/", heartbeat_interval=300)
    await client.connect()
    await asyncio.sleep(1)
    await client.send_message("ada", {"msgtype": "markdown", "markdown": {"content": "words"}})
    # chat_type is documented; the SDK passes on what it is given
    await client.send_message("ada", {"chat_type": 1, "msgtype": "markdown", "markdown": {"content": "words"}})
    for kind in ("file", "image"):
        media = await client.upload_media(b"x", type=kind, filename="a.png")
        await client.send_media_message("ada", kind, media["media_id"])
    await client.disconnect()
    await r.finish()


run(main)
