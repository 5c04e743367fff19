package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/tools"
	"fawn/sandbox/files"
)

func TestStandardErrorIsLabelled(t *testing.T) {
	p, _ := real(t)
	const behind = "(1 process of this command keeps running in the background)"
	for name, c := range map[string]struct{ command, want string }{
		"both":                  {"echo out; echo err >&2; echo again", "out\nagain\nStd Error:\nerr"},
		"only errors":           {"echo err >&2", "Std Error:\nerr"},
		"only errors, failed":   {"echo err >&2; exit 3", "Std Error:\nerr\nExit Code: 3"},
		"both, failed":          {"echo out; echo err >&2; exit 3", "out\nStd Error:\nerr\nExit Code: 3"},
		"redirected":            {"exec 2>&1; echo out; echo err >&2; echo again", "out\nerr\nagain"},
		"redirected, one":       {"ls /none 2>&1 | head -c 2; echo err >&2", "ls\nStd Error:\nerr"},
		"swapped":               {"{ echo out; echo err >&2; } 3>&1 1>&2 2>&3", "err\nStd Error:\nout"},
		"opened anew":           {"echo out > /dev/stdout; echo err > /dev/stderr", "out\nStd Error:\nerr"},
		"closed":                {"exec 2>&-; ls /none; echo out", "out"},
		"only line ends":        {"echo; echo >&2", "(no output)"},
		"no line ends":          {"printf out; printf err >&2", "out\nStd Error:\nerr"},
		"errors are held":       {"sleep 300 >/dev/null & echo up", "up\n" + behind},
		"output is held":        {"sleep 300 2>/dev/null & echo up >&2", "Std Error:\nup\n" + behind},
		"cut in a character":    {`printf '\xe6\x97'; printf '\xa5' >&2; printf '\xa5'`, "日\nStd Error:\n\uFFFD"},
		"not even text":         {`printf 'a\xff' >&2; printf 'b\0'`, "b\uFFFD\nStd Error:\na\uFFFD"},
		"a script of any size":  {"#" + strings.Repeat("x", 200<<10) + "\necho out; echo err >&2", "out\nStd Error:\nerr"},
		"of a program in a job": {"(echo out; echo err >&2) & wait", "out\nStd Error:\nerr"},
	} {
		t.Run(name, func(t *testing.T) {
			if r, _, err := bash(t.Context(), t, p, c.command); err != nil || r.Content.Text != c.want {
				t.Errorf("got %q %v, want %q", r.Content.Text, err, c.want)
			}
		})
	}
}

// TestLongErrorsLeaveRoomForOutput: both share the room of a result, and a file has all bytes.
func TestLongErrorsLeaveRoomForOutput(t *testing.T) {
	p, host := real(t)
	dirs := files.Dirs{Root: strings.TrimSuffix(host, "/threads/t1/user-data"), Quota: files.NewQuota(0)}
	for name, c := range map[string]struct {
		command         string
		start, mid, end string
		bytes           int64
	}{
		"both": {"seq 100000; seq 100000 | tr '0-9\n' 'a-jk' >&2", "1\n2\n3\n", "\n99999\n100000\nStd Error:\nbkckdk", "jjjjjkbaaaaak\n[", 2 * 588895},
		"few":  {"seq 100000; echo why >&2", "1\n2\n3\n", "\n99999\n100000\nStd Error:\nwhy\n[", "", 588895 + 4},
		"most": {"echo out; seq 100000 >&2", "out\nStd Error:\n1\n2\n3\n", " chars skipped] ...\n", "\n99999\n100000\n[", 588895 + 4},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, err := bashWith(t.Context(), t, p, dirs.Open, c.command)
			text, w := r.Content.Text, r.Whole
			if err != nil || w == nil || !strings.HasPrefix(text, c.start) || !strings.Contains(text, c.mid) ||
				!strings.Contains(text, c.end) {
				t.Fatalf("%v %+v %q … %q", err, w, text[:min(len(text), 100)], text[max(len(text)-200, 0):])
			}
			if n := len([]rune(text)); n > 20_400 || n < 19_900 {
				t.Errorf("%d characters", n)
			}
			got, err := os.ReadFile(filepath.Join(host, strings.TrimPrefix(w.Path, "/mnt/user-data/")))
			if err != nil || w.Stored != c.bytes || int64(len(got)) != c.bytes {
				t.Fatalf("%d of %d bytes are in the file: %v", len(got), c.bytes, err)
			}
			if name != "both" {
				return
			}
			var want strings.Builder
			for i := range 100000 {
				fmt.Fprintln(&want, i+1)
			}
			letters := func(r rune) rune {
				if r == '\n' {
					return 'k'
				}
				return r - '0' + 'a'
			}
			out := strings.Map(only("0123456789\n"), string(got))
			errs := strings.Map(only("abcdefghijk"), string(got))
			if out != want.String() || errs != strings.Map(letters, want.String()) {
				t.Error("the file has other bytes than the command wrote")
			}
		})
	}
}

// only drops all characters but some.
func only(some string) func(rune) rune {
	return func(r rune) rune {
		if strings.ContainsRune(some, r) {
			return r
		}
		return -1
	}
}

// gate is a sink that lets a command go on when a text was shown.
type gate struct {
	agenttest.Sink
	t    *testing.T
	wait map[string]string // text to file

	mu    sync.Mutex
	shown string // guarded by mu
}

func (g *gate) Emit(ev agent.Event) {
	var piece string
	if json.Unmarshal(ev.Data, &piece) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shown += piece
	for text, file := range g.wait {
		if strings.Contains(g.shown, text) {
			must.Report(g.t, os.WriteFile(file, nil, 0o666))
		}
	}
}

func TestBothOutputsAreShownAsTheyArrive(t *testing.T) {
	p, host := real(t)
	work := filepath.Join(host, "workspace")
	must.Do(t, os.MkdirAll(work, 0o777))
	sink := &gate{t: t, wait: map[string]string{"one\n": work + "/1", "two\n": work + "/2"}}
	args := must.Get(json.Marshal(map[string]string{"description": "d", "command": `
		until_seen() { until [ -e $1 ]; do sleep 0.01; done; }
		echo one; until_seen 1
		printf '\xe6\x97'; echo two >&2; until_seen 2
		printf '\xa5'; echo three`}))(t)
	r, err := tools.Bash(p, policy, nowhere, results).Run(t.Context(), agenttest.Turn("x", sink),
		agent.ToolCall{ID: "c1", Name: "bash", Args: args})
	if want := "one\n日three\nStd Error:\ntwo"; err != nil || r.Content.Text != want {
		t.Errorf("got %q %v", r.Content.Text, err)
	}
	if sink.shown != "one\ntwo\n日three\n" {
		t.Errorf("shown: %q", sink.shown)
	}
}
