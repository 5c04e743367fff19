"""Has the SDK of a platform listen to a stand-in, and prints what it read of each message, as a line of JSON.

usage: hear.py PLATFORM URL ID SECRET
"""
import asyncio, json, logging, sys, threading

PLATFORM, URL, ID, SECRET = sys.argv[1:]
logging.basicConfig(stream=sys.stderr)


def heard(**fields):
    print(json.dumps(fields), flush=True)


def feishu():
    import lark_oapi as lark

    def take(data):
        m, sender = data.event.message, data.event.sender
        said = json.loads(m.content) if m.content.startswith("{") else {}
        heard(id=m.message_id, kind=m.message_type, sender=sender.sender_id.open_id, chat=m.chat_id,
              group=m.chat_type == "group", text=said.get("text") or "", mentioned=bool(m.mentions),
              topic=m.root_id or "", event=data.header.event_id)

    handler = lark.EventDispatcherHandler.builder("", "").register_p2_im_message_receive_v1(take).build()
    lark.ws.Client(ID, SECRET, event_handler=handler, domain=URL).start()


def dingtalk():
    import dingtalk_stream as ding

    class Take(ding.ChatbotHandler):
        async def process(self, callback):
            m = ding.ChatbotMessage.from_dict(callback.data)
            heard(id=m.message_id, kind=m.message_type, sender=m.sender_staff_id, chat=m.conversation_id,
                  group=m.conversation_type == "2", text=m.text.content.strip() if m.text else "",
                  mentioned=bool(m.is_in_at_list), topic="", event=callback.headers.message_id)
            return ding.AckMessage.STATUS_OK, "OK"

    ding.DingTalkStreamClient.OPEN_CONNECTION_API = URL + "/v1.0/gateway/connections/open"
    client = ding.DingTalkStreamClient(ding.Credential(ID, SECRET))
    client.register_callback_handler(ding.ChatbotMessage.TOPIC, Take())
    asyncio.run(client.start())


def wecom():
    from wecom_aibot_sdk import WSClient

    def take(frame):
        m = frame["body"]
        group = m["chattype"] == "group"
        heard(id=m["msgid"], kind=m["msgtype"], sender=m["from"]["userid"], chat=m["chatid"] if group else m["from"]["userid"],
              group=group, text=m.get("text", {}).get("content", ""), mentioned="@" in m.get("text", {}).get("content", ""),
              topic="", event=frame["headers"]["req_id"])

    async def main():
        client = WSClient(bot_id=ID, secret=SECRET, ws_url="ws" + URL.removeprefix("http"))
        client.on("message", take)
        await client.connect()
        await asyncio.Event().wait()

    asyncio.run(main())


{"feishu": feishu, "dingtalk": dingtalk, "wecom": wecom}[PLATFORM]()
