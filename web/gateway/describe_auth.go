package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeAuth are the routes of signing in and of accounts.
func describeAuth() []o.Op {
	const tag = "Accounts"
	one := o.Ref("Me")
	said := route.Answered("Done", o.Object(o.Req("message", o.String())))
	made := func(text string, s o.Schema) []o.Answer { return []o.Answer{{Status: 201, Text: text, Schema: s}} }
	link := made("A link that can be used once", o.Object(o.Req("link", o.String()), o.Req("token", o.String())))
	role := o.Enum("owner", "admin", "user")
	return []o.Op{
		{ID: "getSetupStatus", Tag: tag, Text: "Tell whether the server has an owner yet",
			Out: route.Answered("The status",
				o.Object(o.Req("needs_setup", o.Bool()), o.Req("registration_enabled", o.Bool())))},
		{ID: "listProviders", Tag: tag, Text: "List services to sign in with",
			Out: route.Answered("The services", o.Object(o.Req("providers", o.List(o.Object(o.Req("id", o.String()),
				o.Req("display_name", o.String()), o.Req("type", o.String()))))))},
		{ID: "initialize", Tag: tag, Text: "Create the owner's account",
			More: "token is that of the set-up link which the server shows on its console.", Need: true,
			Body: o.Body(o.Req("email", o.String()), o.Req("password", o.String()), o.Opt("name", o.String()),
				o.Opt("remember_me", o.Bool()), o.Opt("token", o.String())),
			Out: made("The owner, signed in", one), Fail: []int{400, 403, 409}},
		{ID: "register", Tag: tag, Text: "Create an account", More: "403 unless auth.local.allow_registration is on.",
			Need: true,
			Body: o.Body(o.Req("email", o.String()), o.Req("password", o.String()), o.Opt("name", o.String()),
				o.Opt("remember_me", o.Bool())),
			Out: made("The user, signed in", one), Fail: []int{400, 403, 429}},
		{ID: "login", Tag: tag, Text: "Sign in",
			More: "A form with username (the e-mail address), password, remember_me and, " +
				"for a user with a second factor, totp. Sets the cookies access_token and csrf_token. After five failures an " +
				"address has to wait: 429 with Retry-After.",
			Out:  route.Answered("Signed in", o.Object(o.Req("expires_in", o.Int(0)), o.Req("needs_setup", o.Bool()))),
			Fail: []int{401, 429}},
		{ID: "useLink", Tag: tag, Text: "Use a link that sets the server up, invites a user or resets a password",
			More: "A link that makes an account signs its user in. One that resets a password does not: sign in " +
				"with the new password, and a code where the account asks for one. It ends the account's tokens, unless " +
				"keep_tokens is true.", Need: true,
			Body: o.Body(o.Req("token", o.String()), o.Req("password", o.String()), o.Opt("email", o.String()),
				o.Opt("name", o.String()), o.Opt("remember_me", o.Bool()), o.Opt("keep_tokens", o.Bool())),
			Out: made("The user", one), Fail: []int{400, 403, 409}},
		{ID: "logout", Tag: tag, Text: "Sign out", Out: said},
		{ID: "getMe", Tag: tag, Text: "Get the account that asks", Out: route.Answered("The account", one)},
		{ID: "changePassword", Tag: tag, Text: "Change the password", More: "All other sessions end.", Need: true,
			Body: o.Body(o.Req("current_password", o.String()), o.Req("new_password", o.String()),
				o.Opt("new_email", o.Nullable(o.String())), o.Opt("remember_me", o.Nullable(o.Bool()))),
			Out: said, Fail: []int{400, 429}},
		{ID: "listSessions", Tag: tag, Text: "List where the user is signed in",
			Out: route.Answered("The sessions, last used first",
				o.List(o.Object(o.Req("id", o.String()), o.Req("device", o.String()), o.Req("ip", o.String()),
					o.Req("current", o.Bool()), o.Req("created_at", o.Time()), o.Req("last_used_at", o.Time()),
					o.Req("expires_at", o.Time()))))},
		{ID: "endSession", Tag: tag, Text: "End a session", Out: said},
		{ID: "endOtherSessions", Tag: tag, Text: "End all sessions but this one", Out: said},
		{ID: "listTokens", Tag: tag, Text: "List the user's tokens", Out: route.Answered("The tokens, newest first", o.List(o.Ref("Token")))},
		{ID: "createToken", Tag: tag, Text: "Create a token", Need: true,
			More: "The scope is read or write. The token is shown once; programs send it as Authorization: Bearer or x-api-key. " +
				"A session of more than 15 minutes needs current_password, and totp of who has a second factor.",
			Body: o.Body(o.Req("name", o.String()), o.Req("scopes", o.List(o.Enum("read", "write"))),
				o.Opt("expires_in_days", o.Nullable(o.Range(1, 3650))), o.Opt("current_password", o.String()),
				o.Opt("totp", o.String())),
			Out: made("The token", o.Ref("Token")), Fail: []int{400, 401, 403, 409, 429}},
		{ID: "revokeToken", Tag: tag, Text: "Revoke a token", Out: said},
		{ID: "listUsers", Tag: tag, Text: "List all users", Out: route.Answered("The users, oldest first", o.List(o.Ref("User")))},
		{ID: "inviteUser", Tag: tag, Text: "Invite a user",
			Body: o.Body(o.Opt("email", o.String()), o.Opt("role", role)), Out: link, Fail: []int{400}},
		{ID: "changeUser", Tag: tag, Text: "Change the role of a user, or disable or rename it",
			Body: o.Body(o.Opt("role", role), o.Opt("disabled", o.Bool()), o.Opt("name", o.String())),
			Out:  route.Answered("The user", o.Ref("User")), Fail: []int{400, 409}},
		{ID: "deleteUser", Tag: tag, Text: "Delete an account and all that it owns",
			More:  "Its runs end; threads with their files, memory, agents, tasks, settings, sessions and tokens are deleted for good.",
			Query: []o.Param{{Name: "keep_data", Schema: o.Bool(), Text: "Delete the account only"}},
			Out:   said, Fail: []int{409}},
		{ID: "resetUser", Tag: tag, Text: "Make a link that sets a user's password", Out: link},
	}
}

// authSchemas are the shapes of describeAuth.
func authSchemas() map[string]o.Schema {
	who := []o.Prop{o.Req("id", o.String()), o.Req("email", o.String()), o.Req("name", o.String()),
		o.Req("system_role", o.Enum("admin", "user")), o.Req("role", o.Enum("owner", "admin", "user")),
		o.Req("needs_setup", o.Bool()), o.Req("oauth_provider", o.Nullable(o.String()))}
	return map[string]o.Schema{
		"Me":   o.Object(who...),
		"User": o.Object(append(who, o.Req("disabled", o.Bool()), o.Req("created_at", o.Time()))...),
		"Token": o.Object(o.Req("id", o.String()), o.Req("name", o.String()), o.Req("scopes", o.List(o.String())),
			o.Req("expires_at", o.Nullable(o.Time())), o.Req("last_used_at", o.Nullable(o.Time())),
			o.Req("created_at", o.Time()), o.Req("revoked_at", o.Nullable(o.Time())), o.Opt("token", o.String())),
	}
}
