package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"fawn/web/cli"
)

// Limits of the passages that a search prints: at most, and by default.
const (
	mostPassages  = 50
	usualPassages = 10
)

// knowledgeCommands returns the commands on collections of documents.
func knowledgeCommands() []command {
	return []command{
		{"knowledge list", "", "list the collections of documents", knowledgeListCommand},
		{"knowledge show", "NAME [DOCUMENT]", "print the sources and documents of a collection, or the text of one document",
			knowledgeShowCommand},
		{"knowledge search", "NAME QUERY", "print the passages of a collection that fit best", knowledgeSearchCommand},
		{"knowledge add", "NAME [SOURCE...]", "add files, folders, web pages and git repositories to a collection, " +
			"which is made if there is none", knowledgeAddCommand},
		{"knowledge refresh", "NAME [ADDRESS]", "read the sources of a collection again, or one of them", knowledgeRefreshCommand},
		{"knowledge remove", "NAME [ADDRESS]", "delete a collection, or remove one of its sources or uploaded documents",
			knowledgeRemoveCommand},
	}
}

// knowledge declares their common flags.
func knowledge(c *invocation) (to *cli.Reach, k *cli.Knowledge) {
	to, k = reach(c), &cli.Knowledge{Progress: c.stderr}
	c.BoolVar(&k.JSON, "json", false, "print one JSON object")
	return to, k
}

// interrupted returns the exit code of an interrupted command.
func interrupted(c *invocation, ok bool, err error) error {
	if err != nil && c.Err() != nil && errors.Is(err, context.Canceled) {
		return exitCode(exitCancelled)
	}
	return checked(ok, err)
}

func knowledgeListCommand(c *invocation) func() error {
	to, k := knowledge(c)
	return func() error { return interrupted(c, true, cli.ListKnowledge(c, *c.o, *to, *k)) }
}

func knowledgeShowCommand(c *invocation) func() error {
	to, k := knowledge(c)
	return func() error {
		k.Name = c.word(0)
		return interrupted(c, true, cli.ShowKnowledge(c, *c.o, *to, *k, c.word(1)))
	}
}

func knowledgeSearchCommand(c *invocation) func() error {
	to, k := knowledge(c)
	limit := c.Int("limit", usualPassages, "`N` passages at most, up to 50 (default: 10)")
	return func() error {
		k.Name = c.word(0)
		if strings.TrimSpace(c.word(1)) == "" {
			return usageError{errors.New("the query is empty")}
		}
		if *limit < 1 || *limit > mostPassages {
			return usageError{errors.New("--limit must be 1 to 50")}
		}
		return interrupted(c, true, cli.SearchKnowledge(c, *c.o, *to, *k, c.word(1), *limit))
	}
}

// noWait declares the flag of commands that trigger reading sources.
func noWait(c *invocation, k *cli.Knowledge) {
	c.BoolVar(&k.NoWait, "no-wait", false, "return while the sources are being read; the server goes on")
}

func knowledgeAddCommand(c *invocation) func() error {
	to, k := knowledge(c)
	noWait(c, k)
	var add cli.KnowledgeAdd
	c.Func("kind", "`upload|folder|web|git` what the sources are (default: an address that ends in .git is a repository, "+
		"another one a web page; files are uploaded, folders are read by the server)", func(kind string) error {
		switch kind {
		case "upload", "folder", "web", "git":
			add.Kind = kind
			return nil
		}
		return errors.New("must be upload, folder, web or git")
	})
	c.StringVar(&add.About, "description", "", "`TEXT` what the collection is about; the model is told")
	c.Func("every", "`TIME` after which sources are read again, such as 1h or 24h (default: only when asked)",
		func(text string) (err error) {
			if add.Every, err = time.ParseDuration(text); err != nil || add.Every < time.Second {
				return errors.New("must be a number with a unit, such as 1h or 24h")
			}
			return nil
		})
	return func() error {
		k.Name = c.word(0)
		add.Sources = c.words[1:]
		ok, err := cli.AddKnowledge(c, *c.o, *to, *k, add)
		return interrupted(c, ok, err)
	}
}

func knowledgeRefreshCommand(c *invocation) func() error {
	to, k := knowledge(c)
	noWait(c, k)
	return func() error {
		k.Name = c.word(0)
		ok, err := cli.RefreshKnowledge(c, *c.o, *to, *k, c.word(1))
		return interrupted(c, ok, err)
	}
}

func knowledgeRemoveCommand(c *invocation) func() error {
	to, k := knowledge(c)
	sure := c.Bool("yes", false, "don't ask")
	return func() error {
		k.Name = c.word(0)
		return interrupted(c, true, cli.RemoveKnowledge(c, *c.o, *to, *k, c.word(1), *sure, os.Stdin))
	}
}
