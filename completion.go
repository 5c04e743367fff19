package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"fawn/web"
)

// completing is the hidden command by which the scripts request completions.
const completing = "__complete"

// completions are named as Debian packages install them (release/deb.go). They query the program at each use, so they
// match the installed version.
//
//go:embed all:release/completion
var completions embed.FS

func completionCommand(c *invocation) func() error {
	return func() error {
		name := map[string]string{"bash": "fawn.bash", "zsh": "_fawn", "fish": "fawn.fish"}[c.word(0)]
		script, err := completions.ReadFile("release/completion/" + name)
		if err != nil {
			return err
		}
		_, err = c.stdout.Write(script)
		return err
	}
}

// complete writes the completions of the last of words, the one at the cursor: one per line, with a tab and a
// description. ":files" and ":folders" stand for paths.
func complete(w io.Writer, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	before, cur := words[:len(words)-1], words[len(words)-1]
	offer := func(value, about string) {
		if strings.HasPrefix(value, cur) {
			fmt.Fprintf(w, "%s\t%s\n", value, about)
		}
	}
	cmd, rest, err := find(before)
	offerCommands(before, offer)
	if err != nil || len(before) == 0 && !strings.HasPrefix(cur, "-") {
		return
	}
	c, _ := newInvocation(context.Background(), cmd, new(web.Options), io.Discard, io.Discard)
	given, open := 0, (*flag.Flag)(nil) // plain arguments, and the flag that expects the next value
	for _, word := range rest {
		switch {
		case open != nil:
			open = nil
		case word != "-" && strings.HasPrefix(word, "-"):
			if f := c.Lookup(strings.TrimLeft(word, "-")); f != nil && !isBool(f) {
				open = f
			}
		default:
			given++
		}
	}
	switch want := strings.Fields(cmd.args); {
	case open != nil:
		value, _ := explain(open)
		offerValues(w, value, offer)
	case strings.HasPrefix(cur, "-"):
		c.VisitAll(func(f *flag.Flag) {
			_, text := explain(f)
			offer("--"+f.Name, text)
		})
	case given < len(want):
		offerValues(w, strings.Trim(want[given], "[.]"), offer)
	case strings.Contains(cmd.args, "..."):
		offerValues(w, strings.Trim(want[len(want)-1], "[.]"), offer)
	}
}

// offerCommands offers the first word of a command, or the second.
func offerCommands(before []string, offer func(value, about string)) {
	var seen []string
	for _, cmd := range commandTable() {
		first, second, two := strings.Cut(cmd.name, " ")
		switch {
		case len(before) == 1 && two && first == before[0]:
			offer(second, cmd.about)
		case len(before) == 0 && !slices.Contains(seen, first):
			seen = append(seen, first)
			offer(first, cmd.about)
		}
	}
}

// offerValues lists possible values by the value's name.
func offerValues(w io.Writer, name string, offer func(value, about string)) {
	switch {
	case strings.Contains(name, "|"):
		for value := range strings.SplitSeq(name, "|") {
			offer(value, "")
		}
	case name == "FILE", name == "SOURCE":
		fmt.Fprintln(w, ":files")
	case name == "DIR":
		fmt.Fprintln(w, ":folders")
	}
}
