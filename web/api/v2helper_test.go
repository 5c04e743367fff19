package api_test

import (
	"strings"
	"testing"

	"fawn/web/webtest"
)

// TestAHelperHasAPlaceOfItsOwn: only what happens inside its call is told there, and it is
// told to begin and to end.
func TestAHelperHasAPlaceOfItsOwn(t *testing.T) {
	w := open(t, helperAgent())
	w.command(t, "t1", "run.start", startWeather)
	list := w.listen(t, "t1", `{"channels":["messages","tools","lifecycle","custom:inner"]}`, 1)
	var inner []told
	for _, e := range list {
		if len(e.Params.NS) > 0 {
			if e.Params.NS[0] != "tools:c1" {
				t.Errorf("a place nobody has: %v", e.Params.NS)
			}
			inner = append(inner, e)
		}
	}
	want := `tools lifecycle "started"
tools custom {"type":"inner"}
tools messages "message-start" "ai"
tools messages "content-block-start" 0 {"text":"","type":"text"}
tools messages "content-block-delta" 0 {"text":"psst","type":"text-delta"}
`
	got := brief(t, inner)
	if !strings.HasPrefix(got, want) || strings.Count(got, "lifecycle") != 2 ||
		!strings.Contains(got, `tools lifecycle "completed"`) {
		t.Errorf("got\n%s\nwant first\n%s", got, want)
	}
	root := brief(t, list)
	webtest.Holds(t, "all", root, `!"task_started"`, "\ntools \"tool-started\" \"task\"")
}
