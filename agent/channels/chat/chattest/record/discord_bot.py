"""Every call of the Discord adapter, made by discord.py, and what it says to the gateway."""
import asyncio, io, json
import discord
import discord.gateway, discord.http, yarl
from aiohttp import WSMsgType, web
from wire import Recorder, run

USER = {"id": "1", "username": "fawn", "discriminator": "0", "avatar": None, "bot": True, "global_name": "Fawn"}
MESSAGE = {"id": "30", "channel_id": "20", "author": USER, "content": "x", "timestamp": "2026-01-01T00:00:00+00:00",
           "edited_timestamp": None, "tts": False, "mention_everyone": False, "mentions": [], "mention_roles": [],
           "attachments": [], "embeds": [], "pinned": False, "type": 0}
CHANNEL = {"id": "20", "type": 1, "recipients": [USER], "last_message_id": None}
THREAD = {"id": "30", "type": 11, "guild_id": "9", "parent_id": "20", "name": "Fawn", "owner_id": "1", "message_count": 0,
          "member_count": 1, "rate_limit_per_user": 0, "last_message_id": None,
          "thread_metadata": {"archived": False, "auto_archive_duration": 1440, "archive_timestamp": "2026-01-01T00:00:00+00:00", "locked": False}}
identified, resumed = asyncio.Event(), asyncio.Event()
sessions = 0


async def socket(r, ws, request):
    global sessions
    sessions += 1
    r.frame("query", {k: v for k, v in request.query.items() if k != "compress"})
    await ws.send_json({"op": 10, "d": {"heartbeat_interval": 60000}})
    await ws.send_json({"op": 1, "d": None})
    async for m in ws:
        if m.type != WSMsgType.TEXT:
            continue
        v = json.loads(m.data)
        r.frame(str(v["op"]), v)
        if v["op"] == 1:
            await ws.send_json({"op": 11})
        if v["op"] == 2:
            await ws.send_json({"op": 0, "t": "READY", "s": 1, "d": {
                "v": 10, "user": USER, "guilds": [], "session_id": "s", "application": {"id": "1", "flags": 0},
                "resume_gateway_url": f"ws://127.0.0.1:{r.port}/"}})
            identified.set()
        if v["op"] == 6:
            resumed.set()


async def main():
    def answer(method, path, body):
        if path == "/gateway/bot":
            return {"url": f"ws://127.0.0.1:{r.port}/", "shards": 1, "session_start_limit": {
                "total": 1000, "remaining": 999, "reset_after": 1, "max_concurrency": 1}}
        if path == "/oauth2/applications/@me":
            return {"id": "1", "name": "Fawn", "icon": None, "description": "", "bot_public": True, "flags": 0,
                    "bot_require_code_grant": False, "verify_key": "k", "owner": USER, "team": None}
        if path == "/users/@me":
            return USER
        if path.endswith("/typing") or method in ("PUT", "DELETE"):
            return web.Response(status=204)
        if path.endswith("/threads"):
            return THREAD
        if path.endswith("/messages") and method == "GET":
            return [MESSAGE]
        return CHANNEL if path == "/channels/{id}" else MESSAGE

    r = Recorder("discord", "discord.py", [(r"/[0-9]+", "/{id}")], answer)
    r.socket = socket
    r.optional = ("compress", "large_threshold", "presence", "max_concurrency")
    await r.start()
    discord.http.Route.BASE = r.url
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(f"ws://127.0.0.1:{r.port}/")
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = intents.message_content = True
    client = discord.Client(intents=intents, allowed_mentions=discord.AllowedMentions.none(),
                            enable_debug_events=True)
    await client.login("abc")
    await client.http.get_bot_gateway()
    channel = await client.fetch_channel(20)
    partial = channel.get_partial_message(30)
    message = await channel.fetch_message(30)
    [m async for m in channel.history(limit=100, after=discord.Object(10))]
    await channel.send("words")
    await channel.send("words", nonce="abc", reference=partial.to_reference(fail_if_not_exists=False),
                       suppress_embeds=True, mention_author=False)
    await channel.send(file=discord.File(io.BytesIO(b"x"), "a.txt"))
    await channel.send(file=discord.File(io.BytesIO(b"x"), "a.txt"), nonce="abc",
                       reference=partial.to_reference(fail_if_not_exists=False))
    await partial.edit(content="words")
    await message.edit(content="words", suppress=True)
    await channel.typing()
    await client.http.start_thread_with_message(20, 30, name="Fawn", auto_archive_duration=1440)
    work = asyncio.create_task(client.connect(reconnect=True))
    await asyncio.wait_for(identified.wait(), 10)
    await asyncio.sleep(0.5)
    await client.ws.close(4000)
    try:
        await asyncio.wait_for(resumed.wait(), 15)
    except asyncio.TimeoutError:
        print("discord: no resume was seen")
    await client.close()
    work.cancel()
    await r.finish()


run(main)
