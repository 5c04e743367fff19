package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeAuth returns the routes of signing in and of accounts.
func describeAuth() []o.Op {
	const tag = "Accounts"
	one := o.Ref("Me")
	said := route.Answered("Done", o.Of[messageJSON]())
	made := func(text string, s o.Schema) []o.Answer { return []o.Answer{{Status: 201, Text: text, Schema: s}} }
	link := made("A link that can be used once", o.Of[linkJSON]())
	role := o.Enum("owner", "admin", "user")
	return []o.Op{
		{ID: "getSetupStatus", Tag: tag, Text: "Tell whether the server has an owner yet",
			Out: route.Answered("The status",
				o.Of[setupStatusJSON]())},
		{ID: "listProviders", Tag: tag, Text: "List services to sign in with",
			Out: route.Answered("The services", o.Of[serviceList]())},
		{ID: "createOwner", Tag: tag, Text: "Create the owner's account",
			More: "token is that of the set-up link which the server shows on its console.", Need: true,
			Body: o.Reads[credentials](append(o.Without("keep_tokens"), o.Req("email", o.String()), o.Req("password", o.String()))...),
			Out:  made("The owner, signed in", one), Fail: []int{400, 403, 409}},
		{ID: "register", Tag: tag, Text: "Create an account", More: "403 unless auth.local.allow_registration is on.",
			Need: true,
			Body: o.Reads[credentials](append(o.Without("keep_tokens", "token"), o.Req("email", o.String()), o.Req("password", o.String()))...),
			Out:  made("The user, signed in", one), Fail: []int{400, 403, 429}},
		{ID: "login", Tag: tag, Text: "Sign in",
			More: "A form with username (the e-mail address), password, remember_me and, " +
				"for a user with a second factor, totp. Sets the cookies access_token and csrf_token. After five failures an " +
				"address has to wait: 429 with Retry-After.",
			Out:  route.Answered("Signed in", o.Of[loggedIn]()),
			Fail: []int{401, 429}},
		{ID: "redeemLink", Tag: tag, Text: "Use a link that sets the server up, invites a user or resets a password",
			More: "A link that makes an account signs its user in. One that resets a password does not: sign in " +
				"with the new password, and a code where the account asks for one. It ends the account's tokens, unless " +
				"keep_tokens is true.", Need: true,
			Body: o.Reads[credentials](o.Req("token", o.String()), o.Req("password", o.String())),
			Out:  made("The user", one), Fail: []int{400, 403, 409}},
		{ID: "logout", Tag: tag, Text: "Sign out", Out: said},
		{ID: "getMe", Tag: tag, Text: "Get the account that asks", Out: route.Answered("The account", one)},
		{ID: "changePassword", Tag: tag, Text: "Change the password", More: "All other sessions end.", Need: true,
			Body: o.Reads[passwordBody](o.Req("current_password", o.String()), o.Req("new_password", o.String())),
			Out:  said, Fail: []int{400, 429}},
		{ID: "listSessions", Tag: tag, Text: "List where the user is signed in",
			Out: route.Answered("The sessions, last used first",
				o.List(o.Of[sessionJSON]()))},
		{ID: "endSession", Tag: tag, Text: "End a session", Out: said},
		{ID: "endOtherSessions", Tag: tag, Text: "End all sessions but this one", Out: said},
		{ID: "listTokens", Tag: tag, Text: "List the user's tokens", Out: route.Answered("The tokens, newest first", o.List(o.Ref("Token")))},
		{ID: "createToken", Tag: tag, Text: "Create a token", Need: true,
			More: "The scope is read or write. The token is shown once; programs send it as Authorization: Bearer or x-api-key. " +
				"A session of more than 15 minutes needs current_password, and totp of who has a second factor.",
			Body: o.Reads[tokenBody](o.Req("name", o.String()), o.Req("scopes", o.List(o.Enum("read", "write"))),
				o.Is("expires_in_days", o.Range(1, 3650))),
			Out: made("The token", o.Ref("Token")), Fail: []int{400, 401, 403, 409, 429}},
		{ID: "revokeToken", Tag: tag, Text: "Revoke a token", Out: said},
		{ID: "listUsers", Tag: tag, Text: "List all users", Out: route.Answered("The users, oldest first", o.List(o.Ref("User")))},
		{ID: "inviteUser", Tag: tag, Text: "Invite a user",
			Body: o.Reads[inviteBody](o.Is("role", role)), Out: link, Fail: []int{400}},
		{ID: "changeUser", Tag: tag, Text: "Change the role of a user, or disable or rename it",
			Body: o.Reads[userChange](o.Is("role", role)),
			Out:  route.Answered("The user", o.Ref("User")), Fail: []int{400, 409}},
		{ID: "deleteUser", Tag: tag, Text: "Delete an account and all that it owns",
			More:  "Its runs end; threads with their files, memory, agents, tasks, settings, sessions and tokens are deleted for good.",
			Query: []o.Param{{Name: "keep_data", Schema: o.Bool(), Text: "Delete the account only"}},
			Out:   said, Fail: []int{409}},
		{ID: "createPasswordLink", Tag: tag, Text: "Make a link that sets a user's password", Out: link},
	}
}

// authSchemas returns the schemas of describeAuth.
func authSchemas() map[string]o.Schema {
	roles := []o.Prop{o.Is("system_role", o.Enum("admin", "user")), o.Is("role", o.Enum("owner", "admin", "user"))}
	return map[string]o.Schema{
		"Me":    o.Of[me](roles...),
		"User":  o.Of[userJSON](roles...),
		"Token": o.Of[tokenJSON](),
	}
}
