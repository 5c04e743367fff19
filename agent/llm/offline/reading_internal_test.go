package offline

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent"
)

// TestOnlyWhatWasReadCounts plays read_file by hand, with results that bring nothing.
func TestOnlyWhatWasReadCounts(t *testing.T) {
	file := make([]string, 300)
	for i := range file {
		file[i] = fmt.Sprintf("row %d\n", i+1)
	}
	lines := func(from, to int) string { return strings.Join(file[from-1:min(to, len(file))], "") }
	c := &conversation{tools: map[string]bool{"read_file": true}}
	add := func(from, to int, result string) {
		c.done = append(c.done, step{tool: "read_file", args: args{Path: "/f", Start: from, End: to}, result: result})
	}
	add(0, 0, lines(1, 100)+"... [truncated: lines 1 to 100 shown; read on with start_line=101 and end_line]")
	add(201, 260, lines(201, 260))
	d, more := c.document("/f", 0)
	if d.whole || d.lines != 100 || len(more) != 2 || more[0] != (span{101, 150}) || more[1] != (span{151, 200}) {
		t.Fatalf("%d lines, then %v", d.lines, more)
	}
	add(101, 150, leftOut)
	add(151, 200, agent.InterruptedResult)
	if d, more = c.document("/f", 0); d.lines != 100 || len(more) != 2 {
		t.Fatalf("%d lines, then %v", d.lines, more)
	}
	add(101, 150, lines(101, 150))
	add(151, 200, lines(151, 200))
	if d, more = c.document("/f", 0); d.lines != 260 || len(more) == 0 || more[0].from != 261 {
		t.Fatalf("%d lines, then %v", d.lines, more)
	}
	add(261, 1000, lines(261, 1000))
	add(1001, 2000, "(start_line exceeds file length)")
	d, more = c.document("/f", 0)
	if !d.whole || d.partial || d.lines != 300 || len(more) != 0 || d.text != strings.Join(file, "") {
		t.Errorf("%+v, then %v", d, more)
	}
}

func TestAResultThatNeverComesEndsTheReading(t *testing.T) {
	c := &conversation{tools: map[string]bool{"read_file": true}}
	for range 5 {
		d, more := c.document("/f", 0)
		if len(more) == 0 {
			if d.problem == "" {
				t.Error("no reason is given")
			}
			return
		}
		c.done = append(c.done, step{tool: "read_file", args: args{Path: "/f", Start: more[0].from, End: more[0].to},
			result: leftOut})
	}
	t.Error("it reads for ever")
}
