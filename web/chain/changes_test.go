package chain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/changes"
)

// TestARunTellsItsChanges: the files a run wrote are known by themselves, with their lines, also
// after a later run wrote them again.
func TestARunTellsItsChanges(t *testing.T) {
	w := open(t)
	w.when("begin", call("write_file", `{"path":"/mnt/user-data/outputs/a.md","content":"# One\n\ntext\n"}`),
		say("made"))
	w.when("go on", call("read_file", `{"path":"/mnt/user-data/outputs/a.md"}`),
		call("str_replace", `{"path":"/mnt/user-data/outputs/a.md","old_str":"text","new_str":"better"}`,
			"write_file", `{"path":"/mnt/user-data/workspace/b.txt","content":"b\n"}`), say("changed"))
	w.when("just talk", say("hello"))
	for _, text := range []string{"begin", "go on", "just talk"} {
		w.run(t, text, "")
	}
	var list []struct {
		ID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(w.send(t, "GET", "/threads/t1/runs", "")), &list); err != nil || len(list) != 3 {
		t.Fatal(err, len(list))
	}
	type answer struct {
		Available bool            `json:"available"`
		Summary   changes.Summary `json:"summary"`
		Files     []struct {
			changes.File
			Diff string `json:"diff"`
		} `json:"files"`
	}
	get := func(run, query string) (a answer) {
		t.Helper()
		err := json.Unmarshal([]byte(w.send(t, "GET", "/api/threads/t1/runs/"+run+"/workspace-changes"+query, "")), &a)
		must.Do(t, err)
		return a
	}
	first := get(list[2].ID, "?include_diff=true")
	if !first.Available || first.Summary.Created != 1 || first.Summary.Additions != 3 || len(first.Files) != 1 ||
		first.Files[0].Diff != "--- /dev/null\n+++ b/mnt/user-data/outputs/a.md\n@@ -0,0 +1,3 @@\n+# One\n+\n+text\n" {
		t.Errorf("first: %+v", first)
	}
	second := get(list[1].ID, "?include_diff=true")
	if s := second.Summary; s.Created != 1 || s.Modified != 1 || s.Additions != 2 || s.Deletions != 1 ||
		len(second.Files) != 2 || !strings.Contains(second.Files[0].Diff, "-text\n+better\n") {
		t.Errorf("second: %+v", second)
	}
	if plain := get(list[1].ID, ""); len(plain.Files) != 2 || plain.Files[0].Diff != "" {
		t.Errorf("without differences: %+v", plain)
	}
	if none := get(list[1].ID, "?include_files=false"); len(none.Files) != 0 || none.Summary.Modified != 1 {
		t.Errorf("without files: %+v", none)
	}
	if third := get(list[0].ID, ""); third.Available || third.Files == nil {
		t.Errorf("third: %+v", third)
	}
}
