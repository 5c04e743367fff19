package skilltool

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// Name is the program's name when it runs as this tool.
const Name = "skilltool"

// maxInput limits an input file, in bytes.
const maxInput = 256 << 20

// memory is the tool's soft memory limit.
const memory = 512 << 20

// Main runs the tool and doesn't return if the program was started as the tool. It comes early in main: the
// server isn't needed.
func Main() {
	if len(os.Args) > 0 && filepath.Base(os.Args[0]) == Name {
		debug.SetMemoryLimit(memory)
		os.Exit(Run(os.Args[1:], os.Stdout, os.Stderr))
	}
}

const usage = `Usage: skilltool COMMAND [flags] ARGUMENTS

Documents, from Markdown:
  docx IN.md OUT.docx        Word document
  pdf  IN.md OUT.pdf         PDF (A4)
  html IN.md OUT.html        one page with everything inside
  pptx IN.md OUT.pptx        slides; --- on a line of its own begins the next one, a line
                             that begins with Notes: and all behind it are what the speaker says
  deck IN.md OUT.html        slides for the browser
  xlsx IN.md OUT.xlsx        Excel book: each heading a sheet, tables with formulas (=SUM(B2:B5)), charts
  A block of code whose language is chart becomes a chart, which Office programs can edit:
    type: bar|hbar|stacked|line|area|scatter|pie|donut, title:, unit:, x:, y:, file: or a table behind an empty line;
    without either, the table right above is drawn

Tables (.csv, .tsv, .xlsx):
  info  FILE…                sheets, columns, types, ranges and first rows
  table IN OUT               convert (--sheet NAME)
  sql   QUERY FILE…          SQLite; a file is the table of its name, a sheet NAME_SHEET (--out FILE)
  chart IN OUT.svg|OUT.png   --type bar|hbar|stacked|line|area|scatter|pie|donut --x COLUMN --y COLUMN,… [--title T] [--unit U] [--sheet NAME]

Archives:
  pack FOLDER OUT.skill      check a skill and pack it
`

// command is a subcommand of the tool.
type command struct {
	least, most int // arguments
	do          func(c call) error
}

// call holds the arguments of a command.
type call struct {
	args           []string
	out, warn      io.Writer
	sheet, to      string
	kind, x, title string
	unit           string // unit of the values of a chart
	y              []string
}

func commands() map[string]command {
	return map[string]command{
		"docx":  {2, 2, document(writeDocx)},
		"pdf":   {2, 2, document(writePDF)},
		"html":  {2, 2, document(writePage)},
		"pptx":  {2, 2, document(writePptx)},
		"deck":  {2, 2, document(writeDeck)},
		"xlsx":  {2, 2, document(writeXlsx)},
		"info":  {1, 50, info},
		"table": {2, 2, convertTable},
		"sql":   {2, 50, query},
		"chart": {2, 2, drawChart},
		"pack":  {2, 2, pack},
	}
}

// Run executes one command line and returns the exit code.
func Run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	cmd, ok := commands()[args[0]]
	if !ok {
		fmt.Fprintf(stderr, "skilltool: there is no command %q\n\n%s", args[0], usage)
		return 2
	}
	c := call{out: stdout, warn: stderr}
	y := ""
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.sheet, "sheet", "", "")
	flags.StringVar(&c.to, "out", "", "")
	flags.StringVar(&c.kind, "type", "bar", "")
	flags.StringVar(&c.x, "x", "", "")
	flags.StringVar(&y, "y", "", "")
	flags.StringVar(&c.title, "title", "", "")
	flags.StringVar(&c.unit, "unit", "", "")
	rest := args[1:]
	for { // flags may come before, between and after arguments
		if err := flags.Parse(rest); err != nil {
			fmt.Fprintf(stderr, "skilltool: %v\n\n%s", err, usage)
			return 2
		}
		if flags.NArg() == 0 {
			break
		}
		c.args, rest = append(c.args, flags.Arg(0)), flags.Args()[1:]
	}
	for name := range strings.SplitSeq(y, ",") {
		if name = strings.TrimSpace(name); name != "" {
			c.y = append(c.y, name)
		}
	}
	if len(c.args) < cmd.least || len(c.args) > cmd.most {
		fmt.Fprintf(stderr, "skilltool: %s takes other arguments\n\n%s", args[0], usage)
		return 2
	}
	if err := cmd.do(c); err != nil {
		fmt.Fprintf(stderr, "skilltool: %v\n", err)
		return 1
	}
	return 0
}

// document returns a command that converts Markdown with write.
func document(write func(c call, d *doc) ([]byte, error)) func(call) error {
	return func(c call) error {
		text, err := readFile(c.args[0])
		if err != nil {
			return err
		}
		d, err := parse(text, filepath.Dir(c.args[0]))
		if err != nil {
			return fmt.Errorf("read %s: %w", c.args[0], err)
		}
		made, err := write(c, d)
		if err != nil {
			return err
		}
		return save(c, c.args[1], made)
	}
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("%s is larger than %d MiB", name, maxInput>>20)
	}
	return b, err
}

// save writes an output file atomically and reports it.
func save(c call, name string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(name), ".skilltool-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	_, err = fmt.Fprintf(c.out, "%s: %d bytes\n", name, len(data))
	return err
}
