package agent_test

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

func human(id, text string) *agent.Message {
	return &agent.Message{ID: id, Type: agent.TypeHuman, Content: agent.Text(text)}
}

func ai(id, text string, calls ...string) *agent.Message {
	m := &agent.Message{ID: id, Type: agent.TypeAI, Content: agent.Text(text)}
	for _, c := range calls {
		m.AddCall(c, "echo", `{}`)
	}
	return m
}

func result(id, call, text string) *agent.Message {
	return agent.TextResult(text).Message(id, agent.ToolCall{ID: call, Name: "echo"})
}

func remove(id string) *agent.Message { return &agent.Message{ID: id, Type: agent.TypeRemove} }

// list writes messages as "id:text id:text".
func list(msgs []*agent.Message) string {
	out := make([]string, len(msgs))
	for i, m := range msgs {
		out[i] = m.ID + ":" + m.Content.String()
	}
	return strings.Join(out, " ")
}

func TestApplyMessages(t *testing.T) {
	cases := []struct {
		name  string
		patch []*agent.Message
		want  string
		err   error
	}{
		{"absent keeps", nil, "a:1 b:2 c:3", nil},
		{"an empty list keeps", []*agent.Message{}, "a:1 b:2 c:3", nil},
		{"new ids are appended in order", []*agent.Message{human("d", "4"), human("e", "5")}, "a:1 b:2 c:3 d:4 e:5", nil},
		{"a known id is replaced in place", []*agent.Message{human("b", "x")}, "a:1 b:x c:3", nil},
		{"replace and append together", []*agent.Message{human("d", "4"), human("a", "x"), human("d", "y")}, "a:x b:2 c:3 d:y", nil},
		{"remove", []*agent.Message{remove("b")}, "a:1 c:3", nil},
		{"remove and add again moves to the end", []*agent.Message{remove("a"), human("a", "x")}, "b:2 c:3 a:x", nil},
		{"replace, remove and append together", []*agent.Message{human("c", "x"), remove("a"), human("d", "4")}, "b:2 c:x d:4", nil},
		{"remove what the same write added", []*agent.Message{human("d", "4"), remove("d")}, "a:1 b:2 c:3", nil},
		{"remove all", []*agent.Message{remove(agent.RemoveAll)}, "", nil},
		{"remove all drops what stands before it", []*agent.Message{human("d", "4"), remove(agent.RemoveAll), human("b", "x")}, "b:x", nil},
		{"the last remove all counts", []*agent.Message{remove(agent.RemoveAll), human("d", "4"), remove(agent.RemoveAll), human("e", "5")}, "e:5", nil},
		{"remove of an unknown id", []*agent.Message{human("d", "4"), remove("z")}, "a:1 b:2 c:3", agent.ErrUnknownMessage},
		{"remove twice", []*agent.Message{remove("a"), remove("a")}, "a:1 b:2 c:3", agent.ErrUnknownMessage},
		{"remove all, then an old id", []*agent.Message{remove(agent.RemoveAll), remove("a")}, "a:1 b:2 c:3", agent.ErrUnknownMessage},
		{"a message without an id", []*agent.Message{human("d", "4"), human("", "5")}, "a:1 b:2 c:3", agent.ErrPatch},
		{"a message without an id behind remove all", []*agent.Message{remove(agent.RemoveAll), human("", "5")}, "a:1 b:2 c:3", agent.ErrPatch},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := agent.State{Messages: []*agent.Message{human("a", "1"), human("b", "2"), human("c", "3")}}
			old := s.Messages
			if err := s.Apply(agent.State{Messages: c.patch}); !errors.Is(err, c.err) {
				t.Fatalf("err = %v, want %v", err, c.err)
			}
			if got := list(s.Messages); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := list(old); got != "a:1 b:2 c:3" {
				t.Errorf("a reader of the old list sees %s", got)
			}
			for i, m := range s.Messages { // the index agrees with the list
				if got := s.Message(m.ID); got != s.Messages[i] {
					t.Errorf("Message(%s) = %v", m.ID, got)
				}
			}
			if m := s.Message("nobody"); m != nil {
				t.Errorf("Message(nobody) = %v", m)
			}
		})
	}
}

func TestRemoveAllLeavesAnEmptyListNotNone(t *testing.T) {
	s := agent.State{Messages: []*agent.Message{human("a", "1")}}
	must.Do(t, s.Apply(agent.State{Messages: []*agent.Message{remove(agent.RemoveAll)}}))
	if s.Messages == nil || len(s.Messages) != 0 {
		t.Errorf("messages = %#v", s.Messages)
	}
}

// everything is a state whose every field is written.
func everything(t testing.TB) agent.State {
	t.Helper()
	var s agent.State
	for _, f := range agent.Fields {
		for _, c := range reducerCases {
			if c.field == f.Name && len(c.want) > 2 {
				must.Do(t, f.Decode(&s, []byte(c.want)))
			}
		}
		if !f.Set(&s) {
			t.Fatalf("no sample of %s", f.Name)
		}
	}
	s.Messages = []*agent.Message{human("a", "1")}
	return s
}

// dump writes all of a state, hidden fields too.
func dump(t testing.TB, s *agent.State) string {
	t.Helper()
	msgs := s.Messages
	if msgs == nil {
		msgs = []*agent.Message{}
	}
	b := must.Get(agent.Encode(msgs))(t)
	out := []string{"messages " + string(b)}
	for _, f := range agent.Fields {
		if v := encoded(t, s, f.Name); v != "" {
			out = append(out, f.Name+" "+v)
		}
	}
	return strings.Join(out, "\n")
}

func TestApplyLeavesStateUntouchedOnError(t *testing.T) {
	cases := map[string]struct {
		spoil func(p *agent.State)
		err   error
	}{
		"unknown remove id": {func(p *agent.State) { p.Messages = append(p.Messages, remove("z")) }, agent.ErrUnknownMessage},
		"other sandbox":     {func(p *agent.State) { p.Sandbox = &agent.SandboxRef{ID: "other"} }, agent.ErrSandboxChanged},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := everything(t)
			s.Sandbox = &agent.SandboxRef{ID: "local:t1"}
			want := dump(t, &s)
			p := agent.State{
				Messages:     []*agent.Message{human("a", "x"), human("b", "2")},
				Artifacts:    []string{"/new"},
				Delegations:  []agent.Delegation{{ID: "new"}},
				SkillContext: []agent.SkillRef{{Path: "new"}},
				Notes:        []agent.Note{{ID: "new"}},
				ViewedImages: map[string]agent.Image{"/new": {}},
				Promoted:     &agent.Promoted{Catalog: "new", Names: []string{"x"}},
			}
			c.spoil(&p)
			if err := s.Apply(p); !errors.Is(err, c.err) {
				t.Fatalf("err = %v, want %v", err, c.err)
			}
			if got := dump(t, &s); got != want {
				t.Errorf("state changed:\n%s\nwas\n%s", got, want)
			}
			err := s.Apply(agent.State{Messages: []*agent.Message{human("b", "2")}})
			if err != nil || list(s.Messages) != "a:1 b:2" {
				t.Errorf("later write: %v, %s", err, list(s.Messages))
			}
		})
	}
}

func TestEmptySandboxPatchDoesNotOpenTheWayToAnother(t *testing.T) {
	s := agent.State{Sandbox: &agent.SandboxRef{ID: "local:t1"}}
	must.Do(t, s.Apply(agent.State{Sandbox: &agent.SandboxRef{}}))
	if err := s.Apply(agent.State{Sandbox: &agent.SandboxRef{ID: "other"}}); !errors.Is(err, agent.ErrSandboxChanged) {
		t.Errorf("err = %v, sandbox %v", err, s.Sandbox)
	}
}

// TestFieldsCoverState walks State by reflection: a field that is added but forgotten in
// Fields or in Apply fails here.
func TestFieldsCoverState(t *testing.T) {
	full := everything(t)
	names := map[string]bool{}
	for _, f := range agent.Fields {
		if names[f.Name] {
			t.Errorf("%s is listed twice", f.Name)
		}
		names[f.Name] = true
	}
	typ, seen := reflect.TypeFor[agent.State](), 0
	for i := range typ.NumField() {
		sf := typ.Field(i)
		if !sf.IsExported() || sf.Name == "Messages" {
			continue
		}
		seen++
		var patch agent.State // only this Go field
		reflect.ValueOf(&patch).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		var mine []agent.Field
		for _, f := range agent.Fields {
			if f.Set(&patch) {
				mine = append(mine, f)
			}
		}
		if len(mine) != 1 {
			t.Errorf("%s: %d entries of Fields see it, want 1", sf.Name, len(mine))
			continue
		}
		f := mine[0]
		if tag, _, _ := strings.Cut(sf.Tag.Get("json"), ","); f.Hidden != (tag == "-") || !f.Hidden && tag != f.Name {
			t.Errorf("%s: json name %q, field %q, hidden %v", sf.Name, tag, f.Name, f.Hidden)
		}
		if !strings.Contains(sf.Tag.Get("json"), ",omitzero") && !f.Hidden {
			t.Errorf("%s: an unwritten field would be shown", sf.Name)
		}
		if patch.Empty() {
			t.Errorf("%s: a patch with it counts as empty", sf.Name)
		}
		var s agent.State
		if err := s.Apply(patch); err != nil {
			t.Errorf("%s: %v", sf.Name, err)
		}
		if got, want := encoded(t, &s, f.Name), encoded(t, &patch, f.Name); got != want {
			t.Errorf("%s: Apply made %s of %s", sf.Name, got, want)
		}
		var back agent.State
		if err := f.Decode(&back, []byte(encoded(t, &patch, f.Name))); err != nil {
			t.Errorf("%s: %v", sf.Name, err)
		}
		got, want := reflect.ValueOf(back).Field(i).Interface(), reflect.ValueOf(patch).Field(i).Interface()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read back as %#v, was %#v", sf.Name, got, want)
		}
	}
	if seen != len(agent.Fields) {
		t.Errorf("State has %d fields, Fields lists %d", seen, len(agent.Fields))
	}
	if empty := (agent.State{}); !empty.Empty() {
		t.Error("the zero patch is not empty")
	}
	if p := (agent.State{Messages: []*agent.Message{}}); p.Empty() {
		t.Error("a patch with a message list is empty")
	}
}

func TestJoinWritesWhatBothWrite(t *testing.T) {
	a := agent.State{Messages: []*agent.Message{human("a", "1")}, Artifacts: []string{"/a"}, Title: new(string)}
	b := agent.State{Messages: []*agent.Message{human("a", "2"), remove("x")}, Artifacts: []string{"/b", "/a"},
		Notes: []agent.Note{{ID: "n"}}}
	j, err := agent.Join(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if got := list(j.Messages); got != "a:1 a:2 x:" {
		t.Errorf("messages = %s", got)
	}
	if got := fmt.Sprint(j.Artifacts, j.Title, j.Notes); got != fmt.Sprint([]string{"/a", "/b"}, a.Title, b.Notes) {
		t.Errorf("fields = %s", got)
	}
	if list(a.Messages) != "a:1" || len(a.Artifacts) != 1 || a.Notes != nil {
		t.Errorf("the first patch changed: %+v", a)
	}
	_, err = agent.Join(agent.State{Sandbox: &agent.SandboxRef{ID: "x"}},
		agent.State{Sandbox: &agent.SandboxRef{ID: "y"}})
	if !errors.Is(err, agent.ErrSandboxChanged) {
		t.Errorf("two sandboxes in one step: %v", err)
	}
}

// TestCloneIsSafeForReaders is of use under -race: readers walk a clone while its owner
// goes on writing.
func TestCloneIsSafeForReaders(t *testing.T) {
	s := everything(t)
	s.Sandbox = nil
	var wg sync.WaitGroup
	for i := range 200 {
		c := s.Clone()
		want := list(c.Messages)
		for range 2 {
			wg.Go(func() {
				if got := list(c.Messages); got != want {
					t.Errorf("clone %d changed from %s to %s", i, want, got)
				}
				if m := c.Message("a"); m == nil {
					t.Errorf("clone %d lost its first message", i)
				}
				_ = append(c.Messages, human("mine", ""))
				_ = append(c.Artifacts, "mine")
				_ = append(c.Notes, agent.Note{ID: "mine"})
				_ = dump(t, &c)
			})
		}
		p := agent.State{
			Messages:     []*agent.Message{human(fmt.Sprint("m", i), "x")},
			Artifacts:    []string{fmt.Sprint("/", i)},
			ViewedImages: map[string]agent.Image{fmt.Sprint(i): {}},
			Notes:        []agent.Note{{ID: fmt.Sprint(i)}},
			Delegations:  []agent.Delegation{{ID: fmt.Sprint(i % 3), Status: "completed"}},
			SkillContext: []agent.SkillRef{{Path: fmt.Sprint(i % 9)}},
		}
		switch i % 10 {
		case 4:
			p.Messages = append(p.Messages, human("a", fmt.Sprint(i)))
		case 9:
			p.Messages = append(p.Messages, remove(fmt.Sprint("m", i-1)))
		}
		must.Do(t, s.Apply(p))
	}
	wg.Wait()
}

// TestMessageIsSafeForParallelTools is of use under -race: tools of one step look messages
// up in a state that was just loaded.
func TestMessageIsSafeForParallelTools(t *testing.T) {
	s := agent.State{Messages: []*agent.Message{human("a", "1"), human("b", "2")}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if m := s.Message("b"); m == nil || m.Content.Text != "2" {
				t.Errorf("Message(b) = %v", m)
			}
		})
	}
	wg.Wait()
}

func TestAppendDoesNotCopyTheThread(t *testing.T) {
	var s agent.State
	for i := range 20_000 {
		s.Messages = append(s.Messages, human(fmt.Sprint("old", i), "x"))
	}
	patches := make([]agent.State, 1000)
	for i := range patches {
		patches[i].Messages = []*agent.Message{human(fmt.Sprint("new", i), "x")}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, p := range patches {
		must.Do(t, s.Apply(p))
	}
	runtime.ReadMemStats(&after)
	// Copying the list of 20,000 pointers each time would be 160 MB; growing it once and
	// building the index once is about 2.
	if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
		t.Errorf("1,000 appends allocated %d MB", got>>20)
	}
}

func TestImagesThatClientsSendAreBounded(t *testing.T) {
	var s agent.State
	half := strings.Repeat("A", 20<<20)
	put := func(name string) error {
		return s.Apply(agent.State{ViewedImages: map[string]agent.Image{name: {Base64: half}},
			Artifacts: []string{name}})
	}
	must.Do(t, put("a"))
	if err := put("b"); !errors.Is(err, agent.ErrPatch) || len(s.ViewedImages) != 1 || len(s.Artifacts) != 1 {
		t.Errorf("%v, %d images, %v", err, len(s.ViewedImages), s.Artifacts)
	}
	if err := put("a"); err != nil {
		t.Errorf("in place of the old one: %v", err)
	}
}
