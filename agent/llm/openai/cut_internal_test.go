package openai

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"fawn/agent"
)

// readAll reads one answer as a call does.
func readAll(d Dialect, body io.Reader) (*agent.Message, error) {
	var c agent.Collector
	a := newAnswer(&d, func(k agent.Chunk, err error) bool {
		if err == nil {
			c.Add(k)
		}
		return true
	})
	read := a.read
	if d.Name == "responses" {
		read = a.readResponse
	}
	err := read(&http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)},
		func() {})
	return c.Message("m", err == nil), err
}

// TestAStreamCutAnywhereIsNeverAShortSuccess cuts the recorded answers of all providers at
// every byte, with and without a broken connection. What is left is an error, or the whole
// answer: behind the reason why it ended, only counts and a goodbye can be lost.
func TestAStreamCutAnywhereIsNeverAShortSuccess(t *testing.T) {
	paths, err := filepath.Glob("../testdata/dialects/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d transcripts, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			d, ok := DialectNamed(name)
			reason := `"finish_reason":"`
			if name == "responses" {
				d, ok, reason = Dialect{Name: name}, true, `"type":"response.completed"`
			}
			raw, err := os.ReadFile(path)
			if err != nil || !ok {
				t.Fatalf("%v, a dialect: %v", err, ok)
			}
			answers := regexp.MustCompile(`(?s)\n== answer \d\n(.*?\n)== `).FindAllStringSubmatch(string(raw), -1)
			if len(answers) != 2 {
				t.Fatalf("%d answers", len(answers))
			}
			for _, a := range answers {
				cutEverywhere(t, d, a[1], reason)
			}
		})
	}
}

func cutEverywhere(t *testing.T, d Dialect, stream, reason string) {
	whole, err := readAll(d, strings.NewReader(stream))
	if err != nil {
		t.Fatalf("the whole answer: %v", err)
	}
	failed := 0
	for at := range len(stream) {
		ends := []error{io.EOF, io.ErrUnexpectedEOF}
		if at%16 != 0 {
			ends = ends[:1] // where the line breaks makes no difference to the other
		}
		for _, end := range ends {
			got, err := readAll(d, io.MultiReader(strings.NewReader(stream[:at]), iotest.ErrReader(end)))
			switch {
			case err != nil:
				failed++
			case !same(got, whole):
				t.Fatalf("cut at byte %d, the answer ends as a success with %q, calls %+v, %v", at, got.Content.Text,
					got.ToolCalls, got.Meta)
			case !strings.Contains(stream[:at], reason):
				t.Fatalf("cut at byte %d, before the reason of its end, the answer is a success", at)
			}
		}
	}
	if failed < len(stream)/2 {
		t.Errorf("only %d cuts of %d bytes are failures; did the provider say why it ended so early?", failed,
			len(stream))
	}
}

// same compares what a person and the loop would see; ids may be made up.
func same(a, b *agent.Message) bool {
	if a.Content.Text != b.Content.Text || len(a.ToolCalls) != len(b.ToolCalls) || len(a.Invalid) != len(b.Invalid) ||
		a.Meta["finish_reason"] != b.Meta["finish_reason"] ||
		!reflect.DeepEqual(a.Kwargs[keyReasoning], b.Kwargs[keyReasoning]) {
		return false
	}
	for i := range a.ToolCalls {
		if a.ToolCalls[i].Name != b.ToolCalls[i].Name || string(a.ToolCalls[i].Args) != string(b.ToolCalls[i].Args) {
			return false
		}
	}
	return true
}
