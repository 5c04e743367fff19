package gateway

import (
	o "fawn/web/openapi"
	"fawn/web/route"
)

// describeChannels returns the routes of chat apps.
func describeChannels() []o.Op {
	const tag = "Chat channels"
	provider := route.Answered("The chat app", o.Ref("ChannelProvider"))
	scan := route.Answered("How far the sign-in is", o.Of[scanJSON](o.Is("expires_in", o.Int(0)),
		o.Is("status", o.Enum("pending", "scanned", "verification_required", "confirmed", "expired", "failed")),
		o.Is("provider", o.Nullable(o.Ref("ChannelProvider")))))
	moment := o.Nullable(o.Time())
	values := o.Body(o.Opt("values", o.Map(o.String())))
	return []o.Op{
		{ID: "getChannels", Tag: tag, Text: "Tell which chat channels run", Out: route.Answered("Each known channel",
			o.Of[channelsJSON]())},
		{ID: "listChannelProviders", Tag: tag, Text: "List the chat apps that can be set up",
			Out: route.Answered("The chat apps",
				o.Of[providerList](o.Is("providers", o.List(o.Ref("ChannelProvider")))))},
		{ID: "listChannelConnections", Tag: tag, Text: "List the accounts of chat apps that are connected to yours",
			Out: route.Answered("The connections", o.Of[connectionList](o.Is("connections", o.List(o.Ref("ChannelConnection")))))},
		{ID: "deleteChannelConnection", Tag: tag, Text: "Disconnect an account of a chat app",
			More: "Its next message is refused, and what is being sent to it ends. Runs go on.",
			Out:  route.Emptied("It is revoked"), Fail: []int{404}},
		{ID: "connectChannel", Tag: tag, Text: "Get a code that connects an account of a chat app",
			More: "The code works once, within ten minutes, in a private chat with the bot.",
			Out: route.Answered("The code",
				o.Of[connectCode](o.Is("mode", o.Enum("deep_link", "binding_code")), o.Is("expires_in", o.Int(0)))), Fail: []int{400, 404, 429}},
		{ID: "restartChannel", Tag: tag, Text: "Restart a chat channel",
			Out: route.Answered("Whether it was restarted",
				o.Of[route.DoneMessage]()),
			Fail: []int{403, 404, 503}},
		{ID: "configureChannel", Tag: tag, Text: "Set the credentials of a chat app and start it",
			More: "A password ******** keeps the one that is stored.", Body: values, Out: provider,
			Fail: []int{400, 403, 404, 422}},
		{ID: "disconnectChannel", Tag: tag,
			Text: "Switch a chat app off, forget its credentials and revoke its connections",
			More: "What is being sent to them ends.", Out: provider,
			Fail: []int{400, 403, 404}},
		{ID: "testChannel", Tag: tag, Text: "Try the credentials of a chat app", More: "Nothing is stored.",
			Body: values,
			Out:  route.Answered("Whether they work", o.Of[testedChannel](o.Is("latency_ms", o.Int(0)))),
			Fail: []int{400, 403, 404, 422}},
		{ID: "startWeChatScan", Tag: tag, Text: "Begin to sign a WeChat bot in by QR code",
			More: "It has to be allowed by `channels.wechat.qrcode_login_enabled`. The code can be scanned for three minutes.",
			Out:  scan, Fail: []int{400, 403, 409, 502}},
		{ID: "getWeChatScan", Tag: tag, Text: "Wait a moment for news of a QR code that was shown",
			More: "When it's confirmed, the bot's token is stored and the bot starts.",
			Body: o.Reads[scanBody](), Out: scan,
			Fail: []int{400, 403, 404, 422, 502}},
		{ID: "cancelWeChatScan", Tag: tag, Text: "Give up signing in by QR code", Out: route.Emptied("It is over"),
			Fail: []int{400, 403, 404}},
		{ID: "getChannelStatus", Tag: tag, Text: "Get the state of a chat channel",
			Out: route.Answered("Its state", o.Of[channelStatusJSON](o.Is("connected_since", moment),
				o.Is("rate_limited_until", moment), o.Is("reconnects", o.Int(0)), o.Is("undelivered", o.Int(0)), o.Is("waiting", o.Int(0)))), Fail: []int{400, 404}},
		{ID: "listChannelChats", Tag: tag, Text: "List the chats that go on in threads", Query: []o.Param{
			{Name: "provider", Text: "only chats of this app", Schema: o.String()},
			{Name: "limit", Text: "most chats of the answer", Schema: o.Range(1, route.MaxPage)},
			{Name: "offset", Text: "chats to skip", Schema: o.Int(0)}},
			Out: route.Answered("The chats", o.Of[chatList]()), Fail: []int{403, 422}},
		{ID: "changeChannelChat", Tag: tag, Text: "Let a bot answer in a chat or not, and say whom",
			Body: o.Reads[chatChange](o.Is("members", o.Enum("", "all", "paired"))),
			Out:  route.Answered("The chat", o.Of[chatView]()), Fail: []int{400, 403, 404, 422}},
		{ID: "forgetChannelChat", Tag: tag, Text: "Forget which threads go on in a chat", More: "The threads stay.",
			Out: route.Emptied("It is forgotten"), Fail: []int{400, 403, 404}},
		{ID: "listChannelDestinations", Tag: tag, Text: "List the chats that results of your tasks can be sent to",
			More: "They are those of accounts that you connected, and the groups that you let a bot into.",
			Out:  route.Answered("The chats", o.Of[destinationList]())},
		{ID: "listChannelDeliveries", Tag: tag, Text: "List answers that could not be delivered",
			Out: route.Answered("The messages", o.Of[deliveryList]()), Fail: []int{403}},
		{ID: "retryChannelDelivery", Tag: tag, Text: "Send an answer to its chat again",
			Out: []o.Answer{{Status: 202, Text: "It is being sent"}}, Fail: []int{403, 404, 409, 503}},
	}
}

// channelSchemas returns the schemas of describeChannels.
func channelSchemas() map[string]o.Schema {
	return map[string]o.Schema{
		"ChannelProvider":   o.Of[providerView](o.Is("auth_mode", o.Enum("deep_link", "binding_code"))),
		"ChannelConnection": o.Of[connectionView](o.Is("metadata", o.Map(nil))),
	}
}
