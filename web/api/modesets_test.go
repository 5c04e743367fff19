package api_test

import (
	"fmt"
	"math/bits"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/httpx"
)

var modeNames = []string{"values", "updates", "messages-tuple", "messages", "custom", "tasks", "checkpoints", "debug",
	"tools", "events"}

// modeOf is the bit of the mode a frame belongs to, all of them for what every reader gets.
func modeOf(f frame) int {
	name, _, _ := strings.Cut(f.event, "|")
	switch {
	case name == "messages":
		name = "messages-tuple"
	case strings.HasPrefix(name, "messages/"):
		name = "messages"
	}
	if i := slices.Index(modeNames, name); i >= 0 {
		return 1 << i
	}
	return 1<<len(modeNames) - 1
}

// behind is the frames of some modes past an id. A reader who has had the end is told again.
func behind(all []frame, set int, after httpx.ID) (out []frame) {
	for i, f := range all {
		if modeOf(f)&set != 0 && (httpx.ParseID(f.id).Compare(after) > 0 || i == len(all)-1) {
			out = append(out, f)
		}
	}
	return out
}

// modeRuns leaves three runs behind: up to a breakpoint, from there on, and by a command.
func modeRuns(t *testing.T, w *world) (ids []string) {
	t.Helper()
	for _, body := range []string{
		`{"input":{"messages":[{"type":"human","content":"go","id":"h1"}]},"interrupt_before":["tools"]}`,
		`{"input":null}`,
		`{"command":{"update":{"title":"T"},"goto":"model"}}`,
	} {
		run := decode[map[string]any](t, w.send(t, "POST", "/threads/t1/runs", body).body)
		ids = append(ids, run["run_id"].(string))
	}
	for _, id := range ids {
		w.send(t, "GET", "/threads/t1/runs/"+id+"/join", "")
	}
	return ids
}

// TestEverySetOfModesHasFramesOfItsOwn: ids grow from frame to frame, a frame has the same
// id and data whatever else its reader asked for, and a reader who comes back with the id of
// any frame gets exactly those behind it.
func TestEverySetOfModesHasFramesOfItsOwn(t *testing.T) {
	w := open(t, noisyAgent())
	every := 1<<len(modeNames) - 1
	ids, whole := modeRuns(t, w), [][]frame{}
	replay := func(n int, names []string, after string) []frame {
		t.Helper()
		rec := httptest.NewRecorder()
		must.Do(t, w.api.Replay(t.Context(), rec, ids[n], names, after))
		return frames(t, rec.Body.String())
	}
	for n, id := range ids {
		all := frames(t,
			w.send(t, "GET", "/threads/t1/runs/"+id+"/stream?stream_mode="+strings.Join(modeNames, "&stream_mode="),
				"").body)
		if len(all) < 2 || all[0].event != "metadata" || all[len(all)-1].event != "end" {
			t.Fatalf("run %d: %s", n, events(all))
		}
		seen := 0
		for i, f := range all {
			if i > 0 && httpx.ParseID(f.id).Compare(httpx.ParseID(all[i-1].id)) <= 0 {
				t.Errorf("run %d: %s (%s) comes behind %s (%s)", n, f.id, f.event, all[i-1].id, all[i-1].event)
			}
			if m := modeOf(f); bits.OnesCount(uint(m)) == 1 {
				seen |= m
			}
		}
		if n == 1 && seen != every {
			t.Errorf("no frames of some modes: %b", seen)
		}
		whole = append(whole, all)
	}
	ask := func(n, set int, after string) {
		t.Helper()
		var names []string
		for i, name := range modeNames {
			if set&(1<<i) != 0 {
				names = append(names, name)
			}
		}
		got := replay(n, names, after)
		if want := behind(whole[n], set, httpx.ParseID(after)); !slices.Equal(got, want) {
			t.Fatalf("run %d, %v behind %q:\ngot  %s\nwant %s", n, names, after, fmt.Sprint(got), fmt.Sprint(want))
		}
	}
	for n, all := range whole {
		for _, f := range all {
			ask(n, every, f.id)
		}
	}
	for set := 1; set < every; set++ {
		n := set % len(whole)
		mine := behind(whole[n], set, httpx.ID{})
		if bits.OnesCount(uint(set)) > 1 { // one cut, another one for each set
			mine = mine[set/3%len(mine):][:1]
		}
		for _, f := range mine {
			ask(n, set, f.id)
		}
	}
}
