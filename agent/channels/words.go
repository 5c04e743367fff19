package channels

import "fawn/agent/channels/chat"

// unreadable is the answer to a message that holds nothing but such content.
func unreadable(c chat.Content) string {
	switch c {
	case chat.Voice:
		return sayVoice
	case chat.Sticker:
		return saySticker
	}
	return sayUnreadable
}

// Replies besides answers.
const (
	placeholder   = "…"
	sayStranger   = "I only answer people with a connected account. Open Fawn, go to Settings → Channels, and connect yours."
	sayTooLong    = "That message is too long for me. Please send it in parts, or as a file."
	sayVoice      = "I can't listen to voice messages. Please write to me, or send the recording as a file."
	saySticker    = "I can't make out stickers. Please tell me in words."
	sayUnreadable = "I can't read this kind of message. Please send it as text or as a file."
	sayTooMany    = "That was a lot of messages. Please wait a few minutes before you write again."
	sayAllowed    = "I can answer in this group now. Mention me, or reply to one of my messages."
	sayNotAllowed = "I don't answer in this group yet. Someone with a connected account can let me: /allow"
	sayGuest      = "Only people with a connected account can use this command."
	sayConnected  = "Your account is connected. Write to me, or send /help."
	sayBadCode    = "This code is not valid. It may have expired; get a new one in Fawn under Settings → Channels."
	sayCodeGroup  = "Never send a code to a group. This one can no longer be used; get a new one and send it to me in private."
	sayNew        = "This is a new conversation."
	sayNothing    = "Nothing is running."
	sayStopped    = "Stopped."
	sayNoAnswer   = "There is no answer yet that I could send again."
	sayNoWeb      = "This server has no public address."
	sayNoModel    = "There is no model of that name."
	sayBusy       = "I am still working. Try again when I have answered."
	sayGoalSet    = "The goal is set. It counts from your next message on."
	sayGoalGone   = "There is no goal any more."
	sayNoGoal     = "There is no goal. Set one with /goal and what I should reach."
	sayHelp       = `/new – start a new conversation
/stop – stop what I am doing
/again – send the last answer again
/status – what I am doing
/models – the models, or choose one: /models NAME
/memory – how much I remember about you
/goal – set a goal: /goal TEXT, or /goal clear
/bootstrap – make an agent of your own
/link – this conversation in the browser
/allow – let me answer in a group
/help – this list`

	filesOnly   = "Here are the files."
	noText      = "I have no answer to that."
	taskFailed  = "The task “%s” failed: %s"
	taskStopped = "The task “%s” was stopped."
	stoppedText = "Stopped."
	failedText  = "Something went wrong: %s Send /again to see the answer again, or just write."
	notSent     = "%s could not be sent here."
	tooLarge    = "%s is too large to send here."
	mayMiss     = "My last message may be missing: /again"
	moreComes   = "The answer goes on. The rest comes when it is complete."
	cutShort    = "The whole answer is in the file."
	inTheFile   = "The whole answer is in the file. Its parts:"
	queued      = "Waiting for other conversations to end…"
	refusedFile = "(The file %s was not taken: %s)"
	sentFile    = "(Sent a file: %s)"
	forwarded   = "[Forwarded from %s]"
	unheard     = "(Sent a voice message, but %s)"
)
