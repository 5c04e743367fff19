package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"fawn/web"
)

// completing is the name under which the scripts below ask what can stand at the cursor.
const completing = "__complete"

// The scripts ask the program itself at each use, so they fit whatever version is installed.
const (
	bashCompletion = `# Completion of fawn for bash: source <(fawn completion bash)
_fawn() {
	local cur=${COMP_WORDS[COMP_CWORD]} line
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files)
			compopt -o filenames
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur") ;;
		:folders)
			compopt -o filenames
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$cur") ;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _fawn fawn
`
	zshCompletion = `#compdef fawn
# Completion of fawn for zsh: source <(fawn completion zsh), or save it as _fawn in a folder of fpath
_fawn() {
	local line
	local -a values
	while IFS= read -r line; do
		case $line in
		:files) _files ;;
		:folders) _files -/ ;;
		*) values+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
		esac
	done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
	(( $#values )) && _describe fawn values
}
if [[ $funcstack[1] == _fawn ]]; then _fawn "$@"; else compdef _fawn fawn; fi
`
	fishCompletion = `# Completion of fawn for fish: fawn completion fish | source
function __fawn_complete
	set -l words (commandline -opc)
	set -l cur (commandline -ct)
	for line in ($words[1] __complete $words[2..-1] "$cur" 2>/dev/null)
		switch $line
			case ':files'
				__fish_complete_path "$cur"
			case ':folders'
				__fish_complete_directories "$cur"
			case '*'
				echo $line
		end
	end
end
complete -c fawn -f -a '(__fawn_complete)'
`
)

func completionCommand(c *invocation) func() error {
	return func() error {
		script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.word(0)]
		_, err := io.WriteString(c.stdout, script)
		return err
	}
}

// complete writes what the last of words, the one at the cursor, can become: a line each, with a tab
// and what it is for behind it. ":files" and ":folders" stand for paths.
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
	given, open := 0, (*flag.Flag)(nil) // words that are no flags, and the flag whose value is next
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
		offerValues(w, strings.Trim(want[given], "[]"), offer)
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

// offerValues offers what can stand for a value of that name.
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
