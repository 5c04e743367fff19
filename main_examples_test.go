package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fawn/web/webtest"
)

// notRunHere are the blocks of the shell in README and docs that the test below doesn't run, by
// words in them, with what runs them or why nothing can.
func notRunHere() map[string]string {
	return map[string]string{
		"make run ":                     ".ci/fresh-start runs the two commands from a fresh clone, with empty folders for everything",
		"fawn restore fawn-v13-":        "the copy that an update leaves; TestAnOlderProgramSaysHowToGoBack puts one back",
		"docker build -t fawn .":        "needs a Docker daemon; image.test.mjs runs what the Dockerfile builds",
		"buildah build ":                "needs the image of Go from Docker's registry",
		"--security-opt seccomp":        "needs a Docker daemon; image.test.mjs runs the image with these settings under runc",
		"/release/install.sh |":         "release.test.mjs runs it against a server with a release",
		"sha256sum --check":             "release.test.mjs runs it up to sudo; a test of fawn/release installs the package in a folder",
		"docs/systemd/fawn.service":     "changes the machine, which must run systemd; tests hand the program what systemd does",
		"fawn serve --pprof ":           "the second of two programs would be profiled; TestProfilesAreForThisMachine asks for profiles",
		"fawn eval research":            "asks a model of a provider; TestEvalMeasuresResearch evaluates the scripted one",
		"systemctl enable --now fawn.s": "changes the machine, which must run systemd; tests hand the program what systemd does",
	}
}

// manual is what the commands of one page need.
type manual struct {
	serves bool                                       // a server runs on the data folder
	needs  func(t *testing.T, home string, s *server) // may be nil
	words  map[string]func(t *testing.T, s *server) string
	first  string // what the shell does before
	conf   string // of the server
}

// joins makes an owner with a token, and opens each link that "fawn user add" prints, as the
// person who gets it would.
const joins = `
jar=$(mktemp -p ~)
join() {
  curl -s -c "$jar" "$BASE/api/v1/auth/link" -H 'content-type: application/json' \
    -d "{\"token\": \"${1##*setup?token=}\", \"email\": \"$2\", \"password\": \"correct horse\"}"
}
fawn() {
  out=$(command fawn "$@")
  echo "$out"
  [ "$2" != add ] || join "$out" "$3"
}
fawn user add ann@example.org --role owner
FAWN_TOKEN=$(curl -s -b "$jar" -H "x-csrf-token: $(awk '$6 == "csrf_token" { print $7 }' "$jar")" \
  "$BASE/api/v1/auth/pats" -H 'content-type: application/json' -d '{"name": "mine", "scopes": ["read"], "expires_in_days": 7}' |
  sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')
`

func pages() map[string]manual {
	chat := func(t *testing.T, _ string, s *server) { call[any](t, s, "POST", "/threads", "{}") }
	return map[string]manual{
		"docs/accounts.md": {serves: true, first: joins, conf: "auth: {required: always}"},
		"docs/api.md":      {serves: true},
		"docs/backup.md":   {serves: true, needs: chat},
		"docs/cli.md":      {serves: true, needs: chat},
		"docs/migrate.md": {needs: func(t *testing.T, home string, _ *server) {
			if err := os.CopyFS(filepath.Join(home, "deer-flow"), os.DirFS(deerFlow)); err != nil {
				t.Fatal(err)
			}
		}},
		"docs/projects.md": {serves: true, needs: func(t *testing.T, _ string, s *server) {
			res, text := webtest.Send(t, s.client, "POST", s.url+"/api/projects", strings.NewReader(`{"name": "Annual report"}`))
			if res.StatusCode != http.StatusCreated {
				t.Fatalf("create project: %d %s", res.StatusCode, text)
			}
		}},
		"docs/observability.md": {serves: true, needs: chat, words: map[string]func(*testing.T, *server) string{
			"THREAD/runs/RUN/trace/ID": func(t *testing.T, s *server) string { return traced(t, s, true) },
			"THREAD/runs/RUN/trace":    func(t *testing.T, s *server) string { return traced(t, s, false) },
		}},
	}
}

// traced is the path of the only run's trace, or of the first call in it; it makes the run.
func traced(t *testing.T, s *server, one bool) string {
	t.Helper()
	thread := call[struct {
		ID string `json:"thread_id"`
	}](t, s, "POST", "/threads", "{}").ID
	call[any](t, s, "POST", "/threads/"+thread+"/runs/wait", input("hello"))
	path := thread + "/runs/" + runsOf(t, s, thread)[0].ID + "/trace"
	if !one {
		return path
	}
	var id string
	until(t, func() bool { // calls are stored behind the run
		calls := call[struct{ Spans []struct{ ID int } }](t, s, "GET", "/threads/"+path, "").Spans
		if len(calls) > 0 {
			id = strconv.Itoa(calls[0].ID)
		}
		return id != ""
	})
	return path + "/" + id
}

// TestTheExamplesOfTheCommandLineWork: every block of the shell in README and docs runs as it
// stands, but for addresses, or is in the list of those that can't.
func TestTheExamplesOfTheCommandLineWork(t *testing.T) {
	t.Parallel()
	var tools [2]string
	for i, name := range []string{"bash", "curl"} {
		path, err := exec.LookPath(name)
		if err != nil && os.Getenv("FAWN_CI") == "1" {
			t.Fatal(err)
		} else if err != nil {
			t.Skip(err)
		}
		tools[i] = path
	}
	others := notRunHere()
	known, set := make([]string, 0, len(others)), pages()
	for file, text := range manuals(t) {
		var run []string
		for _, m := range block().FindAllStringSubmatch(text, -1) {
			if !shell(t, file, m[1], m[2]) {
				continue
			}
			why := slices.IndexFunc(keys(others), func(w string) bool { return strings.Contains(m[2], w) })
			if why >= 0 {
				known = append(known, keys(others)[why])
			} else {
				run = append(run, m[2])
			}
		}
		p, ok := set[file]
		delete(set, file)
		if len(run) > 0 != ok {
			t.Errorf("%s has %d blocks to run, and pages() has it: %v", file, len(run), ok)
		}
		if ok {
			t.Run(file, func(t *testing.T) { t.Parallel(); p.run(t, tools[0], strings.Join(run, "")) })
		}
	}
	for name := range set {
		t.Errorf("there is no page %s", name)
	}
	for words := range others {
		if !slices.Contains(known, words) {
			t.Errorf("no block has %q", words)
		}
	}
}

// shell tells whether a block is one of the shell, by the word at its fence. Commands in others would be missed.
func shell(t *testing.T, file, kind, text string) bool {
	t.Helper()
	others := map[string]string{
		"yaml": "TestTheExamplesOfTheConfigurationAreTaken", "json": "the same",
		"js": "docs.test.mjs", "python": "docs_check.py",
		"nginx": "proxy.test.mjs", "caddy": "proxy.test.mjs",
		"haproxy":    "TestHaproxyAsDocumented",
		"go":         "nothing: a stage to begin from",
		"lua":        "nothing: settings of editors",
		"dockerfile": "nothing: it needs Docker's registry",
		"":           "nothing: what is printed, and drawings",
	}
	if kind == "sh" || kind == "bash" {
		return true
	}
	if _, ok := others[kind]; !ok {
		t.Errorf("%s: nothing looks at blocks of %q", file, kind)
	}
	if kind == "" && regexp.MustCompile(`(?m)^\$? ?(fawn|make|go|curl|docker|sudo) `).MatchString(text) {
		t.Errorf("%s: commands are in a block of sh:\n%s", file, text)
	}
	return false
}

func keys(m map[string]string) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// run executes the commands of a page, one after another, where "fawn" is this program.
func (p manual) run(t *testing.T, bash, text string) {
	cmd := program(t, nil)
	bin, data, home := t.TempDir(), t.TempDir(), t.TempDir()
	err := os.WriteFile(filepath.Join(bin, "fawn"), []byte("#!/bin/sh\nexec '"+cmd.Path+"' \"$@\"\n"), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	var s *server
	if p.serves {
		s = serve(t, nil, "--data", data, "--config", file(t, "config.yaml", p.conf))
		cmd.Env = append(cmd.Env, "BASE="+s.url)
		text = strings.NewReplacer("http://127.0.0.1:2026", s.url, "https://fawn.example.org", s.url).Replace(text)
	}
	if p.needs != nil {
		p.needs(t, home, s)
	}
	words := make([]string, 0, len(p.words))
	for word := range p.words {
		words = append(words, word)
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) }) // the longest first
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("there is no %s", word)
		}
		text = strings.ReplaceAll(text, word, p.words[word](t, s))
	}
	cmd.Env = append(cmd.Env, "HOME="+home, "FAWN_HOME="+data, "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Path, cmd.Args = bash, []string{"bash", "-eu", "-o", "pipefail"}
	// An answer that refuses must not pass for one.
	cmd.Stdin = strings.NewReader("curl() { command curl --fail-with-body \"$@\"; }\n" + p.first + text)
	if r := finished(t, cmd); r.code != 0 {
		t.Errorf("%s%+v", text, r)
	}
}
