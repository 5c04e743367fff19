package skills_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"fawn/agent/agenttest/must"
	"fawn/agent/skills"
)

// TestTheProgramStandsInForTheToolOfBundledSkills, by a link or a copy, for everybody to run; other
// skills have no program brought to them.
func TestTheProgramStandsInForTheToolOfBundledSkills(t *testing.T) {
	t.Parallel()
	const noRoom = "not copied where that would fill the disk"
	for name, mode := range map[string]os.FileMode{"linked": 0o755, "copied, as only the owner may run it": 0o700,
		"not there": 0, noRoom: 0o700} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program, want := filepath.Join(dir, "fawn"), "the program"
			if mode == 0 || name == noRoom {
				want = "#!/bin/sh\n"
			}
			if mode == 0 { // it is not there
			} else if err := os.WriteFile(program, []byte(want), mode); err != nil {
				t.Fatal(err)
			}
			custom := filepath.Join(dir, "skills", "custom", "own")
			must.Do(t, os.MkdirAll(custom, 0o700))
			for at, text := range map[string]string{"SKILL.md": skill("own", "d"), "skilltool": "mine"} {
				must.Do(t, os.WriteFile(filepath.Join(custom, at), []byte(text), 0o600))
			}
			var log bytes.Buffer
			for range 2 { // the second start finds a copy
				must.Get(skills.Open(skills.Options{Path: func() string { return filepath.Join(dir, "skills") },
					State: func() string { return filepath.Join(dir, "state.json") },
					Shown: filepath.Join(dir, "shown"), Tool: program,
					Room: func() (int64, bool) { return 64 << 20, name == noRoom }, Log: slog.New(slog.NewTextHandler(&log, nil)),
					Bundled: fstest.MapFS{"docs/SKILL.md": {Data: []byte(skill("docs", "d"))},
						"docs/skilltool": {Data: []byte("#!/bin/sh\n")},
						"more/SKILL.md":  {Data: []byte(skill("more", "d"))},
						"more/skilltool": {Data: []byte("#!/bin/sh\n")}}}))(t)
			}
			for at, want := range map[string]string{"public/docs": want, "public/more": want, "custom/own": "mine"} {
				file := filepath.Join(dir, "shown", filepath.FromSlash(at), "skilltool")
				b, err := os.ReadFile(file)
				if err != nil || string(b) != want {
					t.Errorf("%s: %q %v, want %q", at, b, err, want)
				}
				info, err := os.Stat(file)
				if err != nil || at != "custom/own" && info.Mode().Perm() != 0o755 {
					t.Errorf("%s: %v %v", at, info, err)
				}
			}
			if (log.Len() > 0) != (mode == 0 || name == noRoom) {
				t.Errorf("%s", &log)
			}
			if mode == 0 {
				return
			}
			if info, err := os.Stat(program); err != nil || info.Mode().Perm() != mode {
				t.Errorf("the program has changed: %v %v", info, err)
			}
		})
	}
}
