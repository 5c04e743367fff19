// Command fawn is an agent you chat with: one program that plans, searches, runs commands in a
// sandbox, keeps files and remembers, with its web page inside.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // dates told to the model need time zones on machines without them

	"fawn/agent/skills/bundled"
	"fawn/agent/skills/skilltool"
	"fawn/sandbox/ns"
	"fawn/uploads/convert"
	"fawn/web"
	"fawn/web/cli"
)

// version is set by the linker.
var version string

func main() {
	convert.Main()
	skilltool.Main()
	ns.Reexec()
	// The first signal starts an orderly shutdown; then signals have their default effect, so a second one ends the
	// process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	// Another server may have taken over the database: the restarted process finds out.
	exitReplaced = 75
)

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case skilltool.Name:
			return skilltool.Run(args[1:], stdout, stderr)
		case completing:
			complete(stdout, args[1:])
			return exitOK
		case "help":
			if len(args) > 1 && args[1] == skilltool.Name {
				return skilltool.Run([]string{"help"}, stdout, stderr)
			}
			if cmd, _, err := find(args[1:]); err == nil && len(args) > 1 && !strings.HasPrefix(args[1], "-") {
				io.WriteString(stdout, usageOf(cmd))
			} else if text := usageOfGroup(args[1:]); text != "" {
				io.WriteString(stdout, text)
			} else {
				io.WriteString(stdout, usage())
			}
			return exitOK
		}
	}
	named := len(args) > 0 && !strings.HasPrefix(args[0], "-")
	asked := args
	cmd, args, err := find(args)
	if err != nil {
		if text := usageOfGroup(asked); text != "" && len(asked) > 1 && slices.Contains([]string{"-h", "-help", "--help"}, asked[1]) {
			io.WriteString(stdout, text)
			return exitOK
		}
		return misuse(stderr, "", err)
	}
	o := web.Options{Version: buildVersion(), Log: web.NewLog(stderr), Out: stdout, Skills: bundled.Files(),
		Doctor: cli.Doctor}
	c, do := newInvocation(ctx, cmd, &o, stdout, stderr)
	if err := c.parse(cmd, args); errors.Is(err, flag.ErrHelp) {
		if named {
			io.WriteString(stdout, usageOf(cmd))
		} else {
			io.WriteString(stdout, usage())
		}
		return exitOK
	} else if err != nil {
		return misuse(stderr, cmd.name+" "+cmd.args, err)
	}
	if err = do(); err == nil {
		return exitOK
	}
	if code, ok := errors.AsType[exitCode](err); ok {
		return int(code)
	}
	if wrong, ok := errors.AsType[usageError](err); ok {
		return misuse(stderr, cmd.name+" "+cmd.args, wrong)
	}
	if wrong, ok := errors.AsType[*cli.RunMistake](err); ok {
		fmt.Fprintf(stderr, "fawn: %v\n", wrong)
		return exitUsage
	}
	if !errors.Is(err, errUnhealthy) {
		fmt.Fprintf(stderr, "fawn: %v\n", err)
	}
	if errors.Is(err, web.ErrReplaced) {
		return exitReplaced
	}
	return exitError
}

func printVersion(o web.Options) error {
	_, err := fmt.Fprintf(o.Out, "fawn %s %s %s/%s\n", o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// buildVersion returns the version set by the linker, otherwise the commit recorded by the Go command, otherwise
// "dev".
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return s.Value[:12]
			}
		}
	}
	return "dev"
}
