package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"fawn/web/cli"
)

// Exit codes of run, in addition to the common ones.
const (
	exitWaits     = 3   // it needs an answer
	exitCutOff    = 4   // the model's limit cut the answer
	exitTimeout   = 124 // as timeout(1) has it
	exitCancelled = 130 // the shells' code for an interrupt
)

// exitCode ends a command that has already reported everything.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// maxTask limits a task from standard input, in bytes.
const maxTask = 16 << 20

// reach declares the flags that select a command's server.
func reach(c *invocation) *cli.Reach {
	to := new(cli.Reach)
	c.StringVar(&to.URL, "server", "",
		"`URL` of a server to use (default: the one that has the data folder, or one of its own)")
	c.StringVar(&to.Token, "token", "", "`TOKEN` for a server with accounts (default: FAWN_TOKEN)")
	c.BoolVar(&to.Verbose, "verbose", false, "show the log of a server of its own")
	return to
}

// modeFlag declares the flag that chooses a mode.
func modeFlag(c *invocation, into *string) {
	c.Func("mode", "`flash|thinking|pro|ultra` how much the agent thinks, plans and delegates",
		func(mode string) error {
			switch mode {
			case "flash", "thinking", "pro", "ultra":
				*into = mode
				return nil
			}
			return errors.New("must be flash, thinking, pro or ultra")
		})
}

func acpCommand(c *invocation) func() error {
	to, e := reach(c), cli.Editor{}
	c.StringVar(&e.Agent, "agent", "", "`NAME` of a custom agent")
	c.StringVar(&e.Model, "model", "", "`NAME` of the model (default: the server's)")
	modeFlag(c, &e.Mode)
	return func() error { return cli.ServeACP(c, *c.o, *to, e, os.Stdin, c.stdout, c.stderr) }
}

func runCommand(c *invocation) func() error {
	to, task := reach(c), cli.RunTask{}
	c.Func("file", "`FILE` to upload first; can be given several times", func(name string) error {
		task.Files = append(task.Files, name)
		return nil
	})
	c.StringVar(&task.Model, "model", "", "`NAME` of the model (default: the server's)")
	modeFlag(c, &task.Mode)
	c.StringVar(&task.Agent, "agent", "", "`NAME` of a custom agent")
	c.Func("knowledge", "`NAME` or id of a collection of documents to search; can be given several times", func(name string) error {
		task.Knowledge = append(task.Knowledge, name)
		return nil
	})
	c.StringVar(&task.Project, "project", "", "`NAME` or id of the project that the new chat is made in")
	c.StringVar(&task.Thread, "thread", "", "`ID` of a chat to go on with (default: a new one)")
	c.StringVar(&task.Out, "out", "", "`DIR` to copy the files of the answer to")
	c.Func("timeout", "`TIME` after which the run is cancelled, such as 10m (default: never)", func(text string) (err error) {
		if task.Timeout, err = time.ParseDuration(text); err != nil || task.Timeout < 0 {
			return errors.New("must be a number with a unit, such as 90s, 10m or 1h30m")
		}
		return nil
	})
	asJSON := c.Bool("json", false, "print one JSON object instead of the answer")
	c.BoolVar(&to.Ephemeral, "ephemeral", false,
		"use a data folder that is deleted afterwards, with your configuration")
	return func() error {
		task.Text = c.word(0)
		if task.Text == "-" {
			b, err := io.ReadAll(io.LimitReader(os.Stdin, maxTask+1))
			if err != nil || len(b) > maxTask {
				return errors.Join(errors.New("read the task from standard input: at most 16 MB of text"), err)
			}
			task.Text = string(b)
		}
		if strings.TrimSpace(task.Text) == "" {
			return usageError{errors.New("the task is empty")}
		}
		if task.Project != "" && task.Thread != "" {
			return usageError{errors.New("--project is for a new chat: leave out --thread")}
		}
		if to.Ephemeral && (task.Project != "" || task.Thread != "" || to.URL != "") {
			return usageError{errors.New("--ephemeral has no chats yet and a server of its own: " +
				"leave out --thread, --project and --server")}
		}
		status, err := cli.Run(c, *c.o, *to, task, *asJSON, c.stderr)
		if err != nil {
			return err
		}
		switch status {
		case cli.RunSucceeded:
			return nil
		case cli.RunWaits:
			return exitCode(exitWaits)
		case cli.RunCutOff:
			return exitCode(exitCutOff)
		case cli.RunTimedOut:
			return exitCode(exitTimeout)
		case cli.RunCancelled:
			return exitCode(exitCancelled)
		}
		return exitCode(exitError)
	}
}

// usageError is a mistake in the command line which only the command itself can see.
type usageError struct{ error }
