package main

import (
	"errors"
	"path/filepath"

	"fawn/web/cli"
)

func exportCommand(c *invocation) func() error {
	to := reach(c)
	thread := c.String("thread", "", "`ID` of the chat to export (default: everything)")
	return func() error {
		format := map[string]string{".md": "markdown", ".json": "json"}[filepath.Ext(c.word(0))]
		if format != "" && *thread == "" {
			return usageError{
				errors.New("everything is exported as an archive: name a .zip file, or a chat with --thread"),
			}
		}
		return cli.Export(c, *c.o, *to, c.word(0), *thread, format)
	}
}
