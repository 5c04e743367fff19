package attack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/web/webtest"
)

// TestCommandsToATerminalAreOnlyText looks at what reaches models and clients of output that
// would write titles, keys and colours into a terminal.
func TestCommandsToATerminalAreOnlyText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.must(t, sandbox.ProviderNamespace)
	const text = `printf '\033]0;title\007\033[31mred\033[0m \302\233 tab\t. back\b \177 end\n'`
	told := w.chat(t, "terminal", []use{tool("bash", "command", text+" | tee x")},
		[]use{tool("read_file", "path", "x"), tool("grep", "pattern", "title", "path", ".")})
	for _, s := range told {
		if i := strings.IndexAny(s, "\x1b\x07\b\x7f\u009b"); i >= 0 {
			t.Errorf("%q is left in %q", s[i], s)
		}
		webtest.Holds(t, "told", s, "\u241b]0;title\u2407\u241b[31mred", "tab\t.")
	}
}

// TestLinksOfCommandsLeadToTheSameFiles follows absolute links to files of the same thread,
// which commands make by paths that may be translated.
func TestLinksOfCommandsLeadToTheSameFiles(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{sandbox.ProviderNamespace, sandbox.ProviderLandlock} {
		t.Run(provider, func(t *testing.T) {
			w := newWorld(t, "sandbox: {provider: "+provider+"}\n")
			w.must(t, provider)
			told := w.chat(t, "linked", []use{tool("bash", "command",
				`echo words > /mnt/user-data/uploads/a; mkdir /mnt/user-data/outputs/d; ln -s /mnt/user-data/uploads/a b; ln -s /mnt/user-data/outputs/d e; cat b; echo more > e/f`)},
				[]use{tool("read_file", "path", "b"), tool("read_file", "path", "e/f"),
					tool("write_file", "path", "e/g", "content", "written")},
				[]use{tool("bash", "command", "cat /mnt/user-data/outputs/d/g e/g")})
			for i, want := range []string{"words", "words", "more", "", "written"} {
				webtest.Holds(t, fmt.Sprint("told ", i), told[i], want)
			}
			_, body := w.send(t, "GET", "/api/threads/linked/artifacts/mnt/user-data/workspace/b", "", "")
			webtest.Same(t, "served", body, "words\n")
			// The same way into another thread stays closed.
			at := filepath.Join(w.data, "threads", "linked", "user-data", "workspace", "x")
			err := os.Symlink(filepath.Join(w.data, "threads", "victim", "user-data", "workspace", "private"), at)
			must.Do(t, err)
			webtest.Holds(t, "told", w.chat(t, "linked", []use{tool("read_file", "path", "x")})[0], "Access denied", "!"+secret)
		})
	}
}
