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
	"strings"
	"syscall"
	_ "time/tzdata" // dates told to the model need time zones on machines without them

	"fawn/agent/skills/bundled"
	"fawn/agent/skills/skilltool"
	"fawn/sandbox"
	"fawn/uploads/convert"
	"fawn/web"
)

// version is set by the linker.
var version string

func main() {
	convert.Main()
	skilltool.Main()
	sandbox.Reexec()
	// The first signal ends the work in order; after it signals act as usual, so that a second one
	// ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `Usage: fawn [command] [flags]

Commands:
  serve     start the server (the default)
  doctor    check models, sandbox and files, and report problems with their fixes
  fsck      check the data folder for errors; the server must be stopped
  import    take over chats, files, agents and memory from DeerFlow (import DIR); the server must be stopped
  skills    list them (skills list), check each one (skills doctor), or install one (skills install SOURCE)
  version   print the version
  skilltool make documents, slides and charts the way the skills that come with Fawn do; see skilltool help

Flags of every command:
  --data DIR      data folder (default: FAWN_HOME, then your user data folder)
  --config FILE   configuration file (default: FAWN_CONFIG, ./config.yaml, DIR/config.yaml)

Flags of doctor:
  --apparmor   only print the AppArmor profile that lets Fawn create user namespaces

Flags of skills doctor:
  --prompt TEXT   say also which skills this message would use

Flags of skills install, whose SOURCE is a .skill file, a folder, or the address of a file or a git repository:
  --yes   install it even if it brings files that can be run, or if the check warns

Flags of fsck:
  --repair   back up the database, then fix what can be fixed without losing data

Flags of import:
  --user ID   whose chats to take, where DeerFlow has several users
  --dry-run   only say what would be imported

Flags of serve:
  --addr HOST:PORT   address to listen on (default: 127.0.0.1:2026)
  --insecure         allow an address that other machines can reach, although there are no accounts yet
`

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	command := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	if command == skilltool.Name {
		return skilltool.Run(args, stdout, stderr)
	}
	o := web.Options{Version: buildVersion(), Log: web.NewLog(stderr), Out: stdout, Skills: bundled.Files()}
	flags := flag.NewFlagSet("fawn "+command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Data, "data", "", "")
	flags.StringVar(&o.Config, "config", "", "")
	showVersion, appArmor, repair, prompt := false, false, false, ""

	var do func() error
	switch command {
	case "serve":
		flags.StringVar(&o.Addr, "addr", "127.0.0.1:2026", "")
		flags.BoolVar(&o.Insecure, "insecure", false, "")
		flags.BoolVar(&showVersion, "version", false, "")
		do = func() error { return web.Serve(ctx, o) }
	case "doctor":
		flags.BoolVar(&appArmor, "apparmor", false, "")
		do = func() error {
			if appArmor {
				_, err := io.WriteString(stdout, sandbox.AppArmorProfile())
				return err
			}
			return checked(web.Doctor(ctx, o))
		}
	case "fsck":
		flags.BoolVar(&repair, "repair", false, "")
		do = func() error { return checked(web.Fsck(ctx, o, repair)) }
	case "import":
		if len(args) == 0 || strings.HasPrefix(args[0], "-") {
			return misuse(stderr, errors.New("import needs the folder of DeerFlow behind it"))
		}
		from := web.ImportOptions{From: args[0]}
		args = args[1:]
		flags.StringVar(&from.User, "user", "", "")
		flags.BoolVar(&from.Dry, "dry-run", false, "")
		do = func() error { return checked(web.Import(ctx, o, from)) }
	case "skills":
		if len(args) == 0 {
			return misuse(stderr, errors.New("skills needs list, doctor or install behind it"))
		}
		what := args[0]
		args = args[1:]
		switch what {
		case "list":
			do = func() error { return web.ListSkills(o) }
		case "doctor":
			flags.StringVar(&prompt, "prompt", "", "")
			do = func() error { return checked(web.DoctorSkills(ctx, o, prompt)) }
		case "install":
			if len(args) == 0 || strings.HasPrefix(args[0], "-") {
				return misuse(stderr, errors.New("skills install needs a file, a folder or an address behind it"))
			}
			in := web.SkillInstall{From: args[0]}
			args = args[1:]
			flags.BoolVar(&in.Consent, "yes", false, "")
			do = func() error { return checked(web.InstallSkill(ctx, o, in)) }
		default:
			return misuse(stderr, fmt.Errorf("skills has no command %q; it has list, doctor and install", what))
		}
	case "version":
		do = func() error { return printVersion(o) }
	case "help":
		fmt.Fprint(stdout, usage)
		return exitOK
	default:
		return misuse(stderr, fmt.Errorf("there is no command %q", command))
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return exitOK
	} else if err != nil {
		return misuse(stderr, err)
	}
	if flags.NArg() > 0 {
		return misuse(stderr, fmt.Errorf("%s takes no argument %q", command, flags.Arg(0)))
	}
	if showVersion {
		do = func() error { return printVersion(o) }
	}
	err := do()
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, errUnhealthy) {
		fmt.Fprintf(stderr, "fawn: %v\n", err)
	}
	return exitError
}

func misuse(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "fawn: %v\n\n%s", err, usage)
	return exitUsage
}

// errUnhealthy ends doctor, fsck and import with an exit code; they have already said what is wrong.
var errUnhealthy = errors.New("something needs mending")

// checked is the error of a command that has told what is not right, if something is not.
func checked(ok bool, err error) error {
	if err == nil && !ok {
		err = errUnhealthy
	}
	return err
}

func printVersion(o web.Options) error {
	_, err := fmt.Fprintf(o.Out, "fawn %s %s %s/%s\n", o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// buildVersion is what the linker was told, else the commit the Go command saw, else "dev".
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
