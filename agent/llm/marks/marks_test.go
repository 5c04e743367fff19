package marks_test

import (
	"testing"

	"fawn/agent/llm/marks"
)

// TestCodeIsTold has an x in each text, and says whether that stands in code.
func TestCodeIsTold(t *testing.T) {
	for text, want := range map[string]bool{
		"x": false, "a `x` b": true, "a `b` x": false, "``a ` x``": true, "``a`` x": false, "a ` b\n\nx": false,
		"a ` b\nx": true, "```\nx": true, "```\na\n```\nx": false, "````\n```\nx": true, "~~~\nx": true,
		"~~~\na\n~~~\nx": false, "a ~~~ x": false, "> ```\n> x": true, "- ```\n  x": true, "1. ```\n   a\n   ```\nx": false,
		"```go\n```go\nx": true, "a ```b``` x": false,
	} {
		var c marks.Code
		got := false
		for i := range len(text) {
			if text[i] == 'x' {
				got = c.Inside()
			}
			c.Next(text[i])
		}
		if got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestHalvesOfMarksAreHeld(t *testing.T) {
	list := []string{"<think>", "[/THINK]"}
	for text, want := range map[string]int{"": 0, "a<": 1, "a<THI": 4, "<think>": 0, "x[/think": 7, "<<": 1, "a": 0} {
		if got := marks.Partial(text, list); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
	if at, m := marks.Index("a </b> [/Think] <think>", list); at != 7 || m != "[/THINK]" {
		t.Errorf("found %q at %d", m, at)
	}
}
