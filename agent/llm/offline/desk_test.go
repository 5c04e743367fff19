package offline_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/offline"
	"fawn/agent/tools"
	"fawn/sandbox/files"
	"fawn/uploads"
)

// desk is the offline model with the real loop, tools and files.
type desk struct {
	t    *testing.T
	host string
	dirs files.Dirs
	turn *agent.Turn
	sink *agenttest.Sink
	a    *agent.Agent
}

func newDesk(t *testing.T, change func(*tools.Limits)) *desk {
	t.Helper()
	limits := tools.DefaultLimits()
	if change != nil {
		change(&limits)
	}
	dirs := files.Dirs{Root: t.TempDir()}
	open := func(thread string) (*files.Files, error) {
		if err := dirs.Create(thread); err != nil {
			return nil, err
		}
		return dirs.Open(thread)
	}
	sink := &agenttest.Sink{}
	d := &desk{t: t, dirs: dirs, sink: sink, turn: agenttest.Turn("", sink),
		a: &agent.Agent{Model: offline.New(nil), Tools: tools.Builtin(open, limits, uploads.NoDocuments{})}}
	d.turn.State.Messages = nil
	f := must.Get(open(d.turn.ThreadID))(t)
	f.Close()
	d.host = filepath.Join(dirs.Root, "threads", d.turn.ThreadID, "user-data")
	return d
}

// say runs one turn; files are uploaded with it and told in a note, as the lead does.
func (d *desk) say(text string, list map[string]string) string {
	d.t.Helper()
	id := d.turn.NewID()
	d.turn.State.Messages = append(d.turn.State.Messages,
		&agent.Message{ID: id, Type: agent.TypeHuman, Content: agent.Text(text)})
	if len(list) > 0 {
		note := "<uploaded_files>\nThe user gave these files to this conversation:\n"
		var names []string
		for name := range list {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			d.put("uploads/"+name, list[name])
			note += fmt.Sprintf("- %s (%.1f KB)\n  Path: /mnt/user-data/uploads/%s\n", agent.Escape(name),
				float64(len(list[name]))/1024, agent.Escape(name))
		}
		d.turn.State.Notes = append(d.turn.State.Notes,
			agent.Note{ID: "uploads:" + id, Message: id, Place: agent.Prefix, Kind: "uploads",
				Text: note + "</uploaded_files>"})
	}
	if out, err := d.a.Run(d.t.Context(), d.turn); err != nil || out.StopReason != "" {
		d.t.Fatalf("run: %+v, %v", out, err)
	}
	last := d.turn.State.Messages[len(d.turn.State.Messages)-1]
	if last.Type != agent.TypeAI || len(last.ToolCalls) > 0 {
		d.t.Fatalf("the run ended with %+v", last)
	}
	return last.Content.String()
}

func (d *desk) put(name, content string) {
	d.t.Helper()
	p := filepath.Join(d.host, name)
	must.Do(d.t, errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(content), 0o644)))
}

func (d *desk) output(name string) string {
	d.t.Helper()
	b := must.Get(os.ReadFile(filepath.Join(d.host, "outputs", name)))(d.t)
	return string(b)
}

// calls counts the tools called in the whole conversation.
func (d *desk) calls() map[string]int {
	n := map[string]int{}
	for _, m := range d.turn.State.Messages {
		for _, c := range m.ToolCalls {
			n[c.Name]++
		}
	}
	return n
}

func holds(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in:\n%s", p, text)
		}
	}
}

// sales is a file of n rows about a megabyte long at 10,000, with awkward fields in it.
func sales(n int) string {
	var b strings.Builder
	b.WriteString("id,date,region,product,units,amount,comment\r\n")
	regions := []string{"North", "South", "East", "West", "Übersee, other"}
	x := uint32(1)
	next := func(k int) int { x = x*1664525 + 1013904223; return int(x>>8) % k }
	for i := range n {
		amount := fmt.Sprintf("%.2f", float64(next(1_000_000))/100)
		if next(50) == 0 {
			amount = ""
		}
		day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, next(366))
		fmt.Fprintf(&b, "%d,%s,\"%s\",item %d,%d,%s,\"said \"\"%d\"\"; a remark that makes the row longer, with a comma\"\r\n",
			i+1, day.Format("2006-01-02"), regions[next(5)], next(40), next(20)+1, amount, i)
		if i%1000 == 999 {
			b.WriteString("\r\n")
		}
	}
	return b.String()
}

// comma writes a number with two digits behind the point, or none when it is whole.
func comma(v float64) string {
	s := strings.TrimSuffix(fmt.Sprintf("%.2f", v), ".00")
	whole, fraction, has := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if has {
		whole += "." + fraction
	}
	return whole
}

// drawing checks that a chart is well-formed and holds nothing active or foreign.
func drawing(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	elements := 0
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("chart is not well-formed: %v\n%s", err, svg)
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		elements++
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || strings.Contains(a.Value, "NaN") ||
				strings.Contains(a.Value, "Inf") {
				t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
			}
		}
		if !slices.Contains([]string{"svg", "title", "style", "rect", "text", "line", "polyline", "polygon", "circle"},
			e.Name.Local) {
			t.Errorf("element %s", e.Name.Local)
		}
	}
	if elements < 12 {
		t.Errorf("only %d elements:\n%s", elements, svg)
	}
	holds(t, svg, "prefers-color-scheme")
}
