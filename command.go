package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"fawn/agent/skills/skilltool"
	"fawn/sandbox"
	"fawn/web"
	"fawn/web/cli"
)

// command is a line of the table of commands. Help, completions and parsing are made from it.
type command struct {
	name  string // one word, or two such as "skills list"
	args  string // what follows it; [X] is optional, X... repeats, and only flags may follow
	about string
	// set declares the flags and returns what does the work once they are parsed. The text of a flag
	// begins with the name of its value in backquotes: FILE and DIR are completed as paths, a|b as words.
	set func(c *invocation) func() error
}

// invocation is one use of a command.
type invocation struct {
	context.Context
	*flag.FlagSet
	o      *web.Options
	words  []string // arguments other than flags
	stdout io.Writer
	stderr io.Writer
}

// word returns the nth word after the command, "" if there are fewer.
func (c *invocation) word(n int) string {
	if n < len(c.words) {
		return c.words[n]
	}
	return ""
}

// commandTable returns the table, in the order of the help.
func commandTable() []command {
	table := []command{
		{"serve", "", "start the server (the default)", serveCommand},
		{"run", "TASK", "carry out a task and print the answer, for scripts; - reads the task from standard input",
			runCommand},
		{"doctor", "", "check models, sandbox and files, and report problems with their fixes", doctorCommand},
		{"support-bundle", "FILE", "write doctor, configuration and counts to an archive for whoever helps, without secrets and chats",
			func(c *invocation) func() error {
				return func() error { return web.SupportBundle(c, *c.o, c.word(0)) }
			}},
		{"fsck", "", "check the data folder for errors; the server must be stopped", fsckCommand},
		{"import", "DIR", "take over chats, files, agents and memory from DeerFlow; the server must be stopped",
			importCommand},
		{"migrate", "", "move everything but files to PostgreSQL or back; or bring its tables up to date",
			migrateCommand},
		{"export", "FILE", "write chats with their files, agents and memory to an archive of Markdown and JSON",
			exportCommand},
		{"backup", "FILE", "write everything in the data folder to a file, also while the server runs", backupCommand},
		{"backup verify", "FILE", "check that a backup is whole", func(c *invocation) func() error {
			return func() error { return cli.VerifyBackup(c, *c.o, c.word(0)) }
		}},
		{"restore", "FILE", "put a backup into the data folder; the server must be stopped", restoreCommand},
		{"skills list", "", "list the skills", func(c *invocation) func() error {
			return func() error { return cli.ListSkills(*c.o) }
		}},
		{"skills doctor", "", "check each skill", skillsDoctorCommand},
		{"skills install", "SOURCE",
			"install a skill: a .skill file, a folder, or the address of a file or a git repository",
			skillsInstallCommand},
		{"eval", "DIR", "measure how good research is: questions with rubrics, a fixed web, any model", evalCommand},
		{"eval make", "DIR", "write a folder of example questions with the pages they are answered from", evalMakeCommand},
		{"mcp", "", "be an MCP server on standard input and output, for programs that start one", mcpCommand},
		{"acp", "", "let an editor use an agent over standard input and output (Agent Client Protocol)", acpCommand},
		{"completion", "bash|zsh|fish", "print what makes a shell complete commands and flags", completionCommand},
		{"version", "", "print the version", func(c *invocation) func() error {
			return func() error { return printVersion(*c.o) }
		}},
	}
	return append(append(table, knowledgeCommands()...), userCommands()...)
}

func serveCommand(c *invocation) func() error {
	version := c.Bool("version", false, "only print the version")
	c.StringVar(&c.o.Addr, "addr", web.DefaultAddr, "`HOST:PORT` address to listen on (default: "+web.DefaultAddr+")")
	c.StringVar(&c.o.Base, "base-path", "",
		"`PATH` below which a reverse proxy shows Fawn, such as /fawn (default: server.base_path)")
	c.BoolVar(&c.o.Insecure, "insecure", false,
		"let everyone in without an account, also on an address that other machines can reach")
	c.StringVar(&c.o.Pprof, "pprof", "", "`HOST:PORT` serve Go's profiles there, on this machine only")
	return func() error {
		if *version {
			return printVersion(*c.o)
		}
		return web.Serve(c, *c.o)
	}
}

func doctorCommand(c *invocation) func() error {
	appArmor := c.Bool("apparmor", false, "only print the AppArmor profile that lets Fawn create user namespaces")
	return func() error {
		if *appArmor {
			_, err := io.WriteString(c.stdout, sandbox.AppArmorProfile())
			return err
		}
		return checked(cli.Doctor(c, *c.o))
	}
}

func fsckCommand(c *invocation) func() error {
	repair := c.Bool("repair", false, "back up the database, then fix what can be fixed without losing data")
	deep := c.Bool("deep", false, "also read all files in an object store, and compare them with what was stored")
	return func() error { return checked(cli.Fsck(c, *c.o, *repair, *deep)) }
}

func importCommand(c *invocation) func() error {
	var from cli.ImportOptions
	c.StringVar(&from.User, "user", "", "`ID` whose chats to take, where DeerFlow has several users")
	c.BoolVar(&from.Dry, "dry-run", false, "only say what would be imported")
	return func() error {
		from.From = c.word(0)
		return checked(cli.Import(c, *c.o, from))
	}
}

func migrateCommand(c *invocation) func() error {
	to := c.String("to", "", "`WHERE` postgres://user@host/name, or sqlite:DIR; a password may be in PGPASSWORD. "+
		"Without it, the tables of database.url are brought up to date")
	dry := c.Bool("dry-run", false, "only see whether it works")
	return func() error {
		if *to == "" && !*dry {
			return cli.MigrateTables(c, *c.o)
		}
		return cli.Migrate(c, *c.o, *to, *dry)
	}
}

func backupCommand(c *invocation) func() error {
	secrets := c.Bool("secrets", false, "also back up keys, such as those in secrets.env")
	return func() error { return checked(cli.Backup(c, *c.o, c.word(0), *secrets)) }
}

func restoreCommand(c *invocation) func() error {
	force := c.Bool("force", false, "move what is in the data folder aside, into a folder inside")
	return func() error { return cli.Restore(c, *c.o, c.word(0), *force) }
}

func mcpCommand(c *invocation) func() error {
	return func() error { return cli.ServeMCP(c, *c.o, os.Stdin, c.stdout) }
}

func skillsDoctorCommand(c *invocation) func() error {
	prompt := c.String("prompt", "", "`TEXT` say also which skills this message would use")
	return func() error { return checked(cli.DoctorSkills(c, *c.o, *prompt)) }
}

func skillsInstallCommand(c *invocation) func() error {
	var in cli.SkillInstall
	c.BoolVar(&in.Consent, "yes", false, "install it even if it brings files that can be run, or if the check warns")
	return func() error {
		in.From = c.word(0)
		return checked(cli.InstallSkill(c, *c.o, in))
	}
}

// common declares the flags of every command.
func common(c *invocation) {
	c.StringVar(&c.o.Data, "data", "", "`DIR` data folder (default: FAWN_HOME, then your user data folder)")
	c.StringVar(&c.o.Config, "config", "",
		"`FILE` configuration file (default: FAWN_CONFIG, ./config.yaml, DIR/config.yaml)")
}

// find removes the command from a command line. No command means serve.
func find(args []string) (cmd command, rest []string, err error) {
	table := commandTable()
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return table[0], args, nil
	}
	var under []string // second words
	for _, n := range []int{2, 1} {
		if len(args) < n {
			continue
		}
		name := strings.Join(args[:n], " ")
		for _, cmd := range table {
			if cmd.name == name {
				return cmd, args[n:], nil
			}
			if second, ok := strings.CutPrefix(cmd.name, name+" "); ok {
				under = append(under, second)
			}
		}
	}
	switch {
	case len(under) == 0:
		return cmd, nil, fmt.Errorf("there is no command %q", args[0])
	case len(args) > 1 && !strings.HasPrefix(args[1], "-"):
		return cmd, nil, fmt.Errorf("%s has no command %q; it has %s", args[0], args[1], strings.Join(under, ", "))
	}
	return cmd, nil, fmt.Errorf("%s needs one of these commands: %s", args[0], strings.Join(under, ", "))
}

// parse reads flags and arguments, in any order.
func (c *invocation) parse(cmd command, args []string) error {
	for {
		if err := c.Parse(args); err != nil {
			return err
		}
		rest := c.Args()
		if len(rest) == 0 {
			break
		}
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			c.words = append(c.words, rest...)
			break
		}
		c.words, args = append(c.words, rest[0]), rest[1:]
	}
	want := strings.Fields(cmd.args)
	if len(c.words) > len(want) && !strings.Contains(cmd.args, "...") {
		return fmt.Errorf("%s takes no argument %q", cmd.name, c.words[len(want)])
	}
	for i, w := range want {
		if i >= len(c.words) && !strings.HasPrefix(w, "[") {
			return fmt.Errorf("%s needs the argument %s", cmd.name, w)
		}
		if i < len(c.words) && strings.Contains(w, "|") && !slices.Contains(strings.Split(w, "|"), c.words[i]) {
			return fmt.Errorf("%s takes %s, not %q", cmd.name, w, c.words[i])
		}
	}
	return nil
}

// newInvocation declares the flags of a command.
func newInvocation(ctx context.Context, cmd command, o *web.Options, stdout, stderr io.Writer) (*invocation,
	func() error) {
	c := &invocation{Context: ctx, FlagSet: flag.NewFlagSet("fawn "+cmd.name, flag.ContinueOnError), o: o,
		stdout: stdout, stderr: stderr}
	c.SetOutput(io.Discard)
	do := cmd.set(c)
	common(c)
	return c, do
}

// usage returns the help.
func usage() string {
	var b strings.Builder
	b.WriteString("Usage: fawn [command] [flags]\n\nCommands:\n")
	table := commandTable()
	for _, cmd := range table {
		fmt.Fprintf(&b, "  %-26s %s\n", strings.TrimSpace(cmd.name+" "+cmd.args), cmd.about)
	}
	fmt.Fprintf(&b, "  %-26s %s\n", skilltool.Name,
		"make documents, slides and charts the way the skills that come with Fawn do; see skilltool help")
	c := &invocation{FlagSet: flag.NewFlagSet("", flag.ContinueOnError), o: new(web.Options)}
	common(c)
	shared := c.FlagSet
	b.WriteString("\nFlags of every command:\n")
	shared.VisitAll(func(f *flag.Flag) { writeFlag(&b, f) })
	for _, cmd := range table {
		c, _ := newInvocation(context.Background(), cmd, new(web.Options), io.Discard, io.Discard)
		head := fmt.Sprintf("\nFlags of %s:\n", cmd.name)
		c.VisitAll(func(f *flag.Flag) {
			if shared.Lookup(f.Name) == nil {
				b.WriteString(head)
				head = ""
				writeFlag(&b, f)
			}
		})
	}
	return b.String()
}

// usageOf returns the help of one command, and the lines of those that begin with its name.
func usageOf(cmd command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: fawn %s [flags]\n\n%s\n", strings.TrimSpace(cmd.name+" "+cmd.args), cmd.about)
	head := "\nCommands:\n"
	for _, one := range commandTable() {
		if strings.HasPrefix(one.name, cmd.name+" ") {
			fmt.Fprintf(&b, "%s  %-26s %s\n", head, strings.TrimSpace(one.name+" "+one.args), one.about)
			head = ""
		}
	}
	c, _ := newInvocation(context.Background(), cmd, new(web.Options), io.Discard, io.Discard)
	b.WriteString("\nFlags:\n")
	c.VisitAll(func(f *flag.Flag) { writeFlag(&b, f) })
	return b.String()
}

// usageOfGroup returns the help of the commands that share their first word with a command line, such as "knowledge". It
// returns "" for the word of none or of a command.
func usageOfGroup(args []string) string {
	if len(args) == 0 {
		return ""
	}
	var list strings.Builder
	for _, one := range commandTable() {
		if one.name == args[0] {
			return ""
		}
		if strings.HasPrefix(one.name, args[0]+" ") {
			fmt.Fprintf(&list, "  %-26s %s\n", strings.TrimSpace(one.name+" "+one.args), one.about)
		}
	}
	if list.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("Usage: fawn %s COMMAND [flags]\n\nCommands:\n%s\nfawn help %s COMMAND lists the flags of one of them.\n",
		args[0], list.String(), args[0])
}

func writeFlag(b *strings.Builder, f *flag.Flag) {
	value, text := explain(f)
	fmt.Fprintf(b, "  %-26s %s\n", strings.TrimSpace("--"+f.Name+" "+value), text)
}

// explain splits a flag's usage into the name of its value, "" if it takes none, and the description.
func explain(f *flag.Flag) (value, text string) {
	if rest, ok := strings.CutPrefix(f.Usage, "`"); ok {
		value, text, _ = strings.Cut(rest, "`")
		return value, strings.TrimSpace(text)
	}
	return "", f.Usage
}

// isBool reports whether a flag takes no value.
func isBool(f *flag.Flag) bool {
	v, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && v.IsBoolFlag()
}

// misuse reports a command line error on the last line, directly above the prompt.
func misuse(stderr io.Writer, use string, err error) int {
	if use = strings.TrimSpace(use); use == "" {
		use = "[command]"
	}
	text := strings.NewReplacer("for flag -", "for --", "flag provided but not defined: -", "there is no flag --",
		"flag needs an argument: -", "a value is missing behind --", ": parse error", "").Replace(err.Error())
	fmt.Fprintf(stderr, "Usage: fawn %s [flags]; fawn help lists commands and flags\nfawn: %s\n", use, text)
	return exitUsage
}

// errUnhealthy ends checking or copying commands with an exit code after they reported the problem.
var errUnhealthy = errors.New("something needs repair")

// checked returns the error of a command that has already reported problems, if there were any.
func checked(ok bool, err error) error {
	if err == nil && !ok {
		err = errUnhealthy
	}
	return err
}
