"""Every call of the Telegram adapter, made by python-telegram-bot."""
import io
from telegram import (Bot, BotCommand, InputMediaDocument, InputMediaPhoto, LinkPreviewOptions, MessageEntity,
                      ReplyParameters)
from telegram.request import HTTPXRequest
from wire import Recorder, run

ME = {"id": 1, "is_bot": True, "first_name": "Fawn", "username": "FawnBot"}
MESSAGE = {"message_id": 7, "date": 1, "chat": {"id": 5, "type": "private"}, "text": "x"}
HOOK = {"url": "", "has_custom_certificate": False, "pending_update_count": 0}
ANSWERS = {"getMe": ME, "getUpdates": [], "getWebhookInfo": HOOK, "getFile": {"file_id": "f", "file_unique_id": "u", "file_path": "d/f"}}


def answer(method, path, body):
    name = path[1:]
    if name.startswith("send") and name != "sendChatAction" or name.startswith("edit"):
        return {"ok": True, "result": MESSAGE}
    return {"ok": True, "result": ANSWERS.get(name, True)}


async def main():
    r = await Recorder("telegram", "python-telegram-bot", [(r"^/bot[^/]+", "")], answer).start()
    bot = Bot("1:abc", base_url=r.url + "/bot", base_file_url=r.url + "/file/bot", request=HTTPXRequest())
    await bot.get_me()
    await bot.get_updates(timeout=0)
    await bot.get_updates(offset=3, timeout=0, allowed_updates=["message", "message_reaction"])
    await bot.set_my_commands([BotCommand("new", "start anew")])
    await bot.send_chat_action(5, "typing")
    await bot.send_chat_action(5, "typing", message_thread_id=3)
    marks = [MessageEntity("bold", 0, 1), MessageEntity("text_link", 0, 1, url="https://example.org"),
             MessageEntity("pre", 0, 1, language="go")]
    more = dict(message_thread_id=3, reply_parameters=ReplyParameters(4, allow_sending_without_reply=True))
    quiet = dict(disable_notification=True)
    plain = LinkPreviewOptions(is_disabled=True)
    await bot.send_message(5, "words")
    await bot.send_message(5, "words", entities=marks, link_preview_options=plain, **more, **quiet)
    await bot.edit_message_text("words", 5, 7)
    await bot.edit_message_text("words", 5, 7, entities=marks, link_preview_options=plain)
    for send, kind in ((bot.send_document, "a.txt"), (bot.send_photo, "a.png")):
        await send(5, io.BytesIO(b"x"), filename=kind)
        await send(5, io.BytesIO(b"x"), filename=kind, caption="words", caption_entities=marks, **more)
    for media in (InputMediaDocument(io.BytesIO(b"x"), filename="a.txt"), InputMediaPhoto(io.BytesIO(b"x"))):
        await bot.edit_message_media(media, 5, 7)
    await bot.get_file("f")
    await bot.get_webhook_info()
    await bot.shutdown()
    await r.finish()


run(main)
