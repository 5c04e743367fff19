package main

import (
	"os"

	"fawn/web"
)

// userCommands returns the commands for accounts.
func userCommands() []command {
	job := func(what string) func(*invocation) func() error {
		return func(c *invocation) func() error {
			return func() error { return web.Users(c, *c.o, web.UserJob{Do: what, Email: c.word(0), Role: c.word(1)}) }
		}
	}
	return []command{
		{"user list", "", "list the accounts", job("list")},
		{"user add", "EMAIL", "make a link through which somebody creates an account", userAddCommand},
		{"user role", "EMAIL owner|admin|user", "give a user another role", job("role")},
		{"user disable", "EMAIL", "keep a user out; sessions end", job("disable")},
		{"user enable", "EMAIL", "let a user in again", job("enable")},
		{"user reset", "EMAIL", "make a link that sets a new password", userResetCommand},
		{"user delete", "EMAIL", "delete an account with all that it owns", userDeleteCommand},
	}
}

func userAddCommand(c *invocation) func() error {
	role := c.String("role", "user", "`owner|admin|user` role of the new user (default: user)")
	return func() error { return web.Users(c, *c.o, web.UserJob{Do: "add", Email: c.word(0), Role: *role}) }
}

func userResetCommand(c *invocation) func() error {
	factor := c.Bool("second-factor", false, "also remove authenticator app, recovery codes and passkeys")
	return func() error { return web.Users(c, *c.o, web.UserJob{Do: "reset", Email: c.word(0), Factor: *factor}) }
}

func userDeleteCommand(c *invocation) func() error {
	keep := c.Bool("keep-data", false, "delete the account only; its chats and files stay in the data folder")
	sure := c.Bool("yes", false, "don't ask")
	return func() error { return web.DeleteUser(c, *c.o, os.Stdin, c.word(0), *keep, *sure) }
}
