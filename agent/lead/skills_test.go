package lead_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/profile"
	"fawn/agent/skills"
)

// shelf makes a library of custom skills: for each name what stands behind the description in its
// front matter, and the text.
func shelf(t *testing.T, texts map[string]string) *skills.Library {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		at := filepath.Join(dir, "skills", "custom", name)
		must.Do(t, os.MkdirAll(at, 0o700))
		text = "---\nname: " + name + "\ndescription: About " + name + "\n" + text
		must.Do(t, os.WriteFile(filepath.Join(at, skills.File), []byte(text), 0o600))
	}
	l := must.Get(skills.Open(skills.Options{Path: func() string { return filepath.Join(dir, "skills") },
		Shown: filepath.Join(dir, "shown"), State: func() string {
			return filepath.Join(dir, "extensions_config.json")
		}, Log: slog.New(slog.DiscardHandler)}))(t)
	return l
}

func withShelf(l *skills.Library) setup {
	return func(_ *config.File, o *lead.Options) { o.Skills = l }
}

// TestThePromptListsEnabledSkills by name, in the same bytes each time; the text is not in it.
func TestThePromptListsEnabledSkills(t *testing.T) {
	l := shelf(t, map[string]string{"paint": "---\nSecret of paint", "draw": "---\nSecret of drawing", "torn": "---"})
	w := newWorld(t, []agenttest.Reply{agenttest.Say("a"), agenttest.Say("b"), agenttest.Say("c")}, withShelf(l))
	w.say(t, "go", "")
	must.Do(t, l.SetEnabled(map[string]bool{"torn": false}))
	w.say(t, "go", "")
	must.Do(t, l.SetEnabled(map[string]bool{"paint": false}))
	w.say(t, "go", "")
	const draw = "\n- `draw`: About draw (/mnt/skills/custom/draw/SKILL.md)"
	for i, want := range []string{
		draw + "\n- `paint`: About paint (/mnt/skills/custom/paint/SKILL.md)\n- `torn`: About torn (/mnt/skills/custom/torn/SKILL.md)\n</available_skills>",
		draw + "\n- `paint`: About paint (/mnt/skills/custom/paint/SKILL.md)\n</available_skills>\n<disabled_skills>\nTurned off by the user: `torn`.",
		draw + "\n</available_skills>\n<disabled_skills>\nTurned off by the user: `paint`, `torn`.",
	} {
		if got := w.request(t, i).System; !strings.Contains(got, want) || strings.Contains(got, "Secret") ||
			strings.Contains(got, "<disabled_skills>") != (i > 0) || strings.Contains(got, "{off}") {
			t.Errorf("prompt %d lacks %q:\n%s", i, want, got)
		}
	}
}

// TestAnAgentHasItsOwnSkills and no others, in its prompt and by name.
func TestAnAgentHasItsOwnSkills(t *testing.T) {
	lib := must.Get(profile.Open(t.TempDir(), "default"))(t)
	t.Cleanup(func() { _ = lib.Close() })
	for _, a := range []profile.Agent{{Name: "painter", Skills: []string{"paint", "gone"}},
		{Name: "none", Skills: []string{}}, {Name: "all"}} {
		must.Do(t, lib.Create("default", a))
	}
	for name, want := range map[string]string{"painter": "paint", "none": "", "all": "draw paint"} {
		w := newWorld(t, []agenttest.Reply{agenttest.Say("a")},
			withShelf(shelf(t, map[string]string{"paint": "---\nx", "draw": "---\nx"})),
			func(_ *config.File, o *lead.Options) { o.Agents = lib })
		w.say(t, "go", `{"agent_name":"`+name+`"}`)
		var got []string
		for _, s := range []string{"draw", "paint"} {
			if strings.Contains(w.request(t, 0).System, "- `"+s+"`") {
				got = append(got, s)
			}
		}
		if strings.Join(got, " ") != want ||
			(want == "") == strings.Contains(w.request(t, 0).System, "<skill_system>") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		w.say(t, "/draw a cat", `{"agent_name":"`+name+`"}`)
		refused := len(w.script.Requests()) == 1
		if refused == (name == "all") {
			t.Errorf("%s: refused %v", name, refused)
		}
	}
}

// TestAMessageNamesASkill: its text comes once, in front of the message, and stays in later turns.
func TestAMessageNamesASkill(t *testing.T) {
	l := shelf(t,
		map[string]string{"paint": "required-secrets: [BRUSH, {name: EASEL, optional: true}]\n---\nUse </skill> red.\n    Then blue."})
	w := newWorld(t, []agenttest.Reply{agenttest.Say("a"), agenttest.Say("b"), agenttest.Say("c")}, withShelf(l))
	w.say(t, "/paint the wall", "")
	first := lines(w.request(t, 0))
	for _, want := range []string{"<slash_skill_activation>", "/mnt/skills/custom/paint/SKILL.md",
		"needs the variables BRUSH,", "Use &lt;/skill&gt; red.\n    Then blue.", "/paint the wall"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
	if strings.Index(first, "<slash_skill_activation>") > strings.Index(first, "/paint the wall") {
		t.Error("the skill stands behind the message")
	}
	if got := w.state(t).Messages[0].Content.String(); got != "/paint the wall" {
		t.Errorf("the message was changed: %q", got)
	}
	must.Do(t, l.SetEnabled(map[string]bool{"paint": false}))
	w.say(t, "and now?", "")
	second := lines(w.request(t, 1))
	if !strings.HasPrefix(second, strings.TrimSpace(first)) || strings.Count(second, "<slash_skill_activation>") != 1 {
		t.Errorf("the second request does not begin with the first:\n%s\n%s", first, second)
	}
}

// TestASkillThatCannotBeHadIsAnsweredWithoutAModel, and what only looks like one is a plain message.
func TestASkillThatCannotBeHadIsAnsweredWithoutAModel(t *testing.T) {
	l := shelf(t, map[string]string{"paint": "---\nx", "off": "---\nx", "torn": "- x: [\n---\nx"})
	must.Do(t, l.SetEnabled(map[string]bool{"off": false}))
	for text, want := range map[string]string{
		"/nobody":  "There is no skill called `nobody`. Available: `/paint`.",
		"/off now": "The skill `off` is turned off.",
		"/torn":    "The skill `torn` can't be used: its SKILL.md has an error.", "/etc/passwd?": "", " /nobody": "",
		"/Nobody": "", "/help me": "", "/no--body": "", "/paint!": "",
	} {
		w := newWorld(t, []agenttest.Reply{agenttest.Say("said")}, withShelf(l))
		w.say(t, text, "")
		msgs := w.state(t).Messages
		got := msgs[len(msgs)-1].Content.String()
		if want == "" && got != "said" || want != "" && (got != want || len(w.script.Requests()) != 0) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestToolsOfASkillCountWhileItIsInUse: from when it is named or read until the next message.
func TestToolsOfASkillCountWhileItIsInUse(t *testing.T) {
	const read, ls = `{"path":"/mnt/skills/custom/%/SKILL.md"}`, `{"path":"."}`
	at := func(name string) string { return strings.Replace(read, "%", name, 1) }
	l := shelf(t, map[string]string{"narrow": "allowed-tools: Read Grep(*)\n---\nx", "free": "---\nx",
		"closed": "allowed-tools: []\n---\nx"})
	for _, c := range []struct {
		name, text string
		calls      []agenttest.Reply
		refused    bool
	}{
		{"nothing in use", "go", []agenttest.Reply{agenttest.Call("z", "ls", ls)}, false},
		{"named", "/narrow go", []agenttest.Reply{agenttest.Call("z", "ls", ls)}, true},
		{"named, and another one read", "/narrow go", []agenttest.Reply{agenttest.Call("a", "cat", at("free")), agenttest.Call("z", "ls", ls)}, true},
		{"read", "go", []agenttest.Reply{agenttest.Call("a", "cat", at("narrow")), agenttest.Call("z", "ls", ls)}, true},
		{"read, and one without a list", "go", []agenttest.Reply{agenttest.Call("a", "cat", at("narrow"), "b", "cat", at("free")), agenttest.Call("z", "ls", ls)}, false},
		{"a tool of the list", "/narrow go", []agenttest.Reply{agenttest.Call("z", "grep", `{"pattern":"x","path":"."}`)}, false},
		{"a list of none", "/closed go", []agenttest.Reply{agenttest.Call("z", "cat", at("free"))}, true},
		{"plans and questions", "/closed go", []agenttest.Reply{agenttest.Call("z", "present_files", `{"filepaths":[]}`)}, false},
		{"reading failed", "go", []agenttest.Reply{agenttest.Call("a", "read_file", at("narrow")), agenttest.Call("z", "ls", ls)}, false},
	} {
		w := newWorld(t, append(c.calls, agenttest.Say("done"), agenttest.Call("y", "ls", ls), agenttest.Say("done")),
			withShelf(l), func(_ *config.File, o *lead.Options) {
				o.Tools = []*agent.Tool{tool("cat", func(agent.ToolCall) agent.Result { return agent.TextResult("x") })}
			})
		w.say(t, c.text, `{}`)
		got := result(t, w.state(t), "z")
		if refused := strings.Contains(got, "allowed-tools"); refused != c.refused {
			t.Errorf("%s: %q", c.name, got)
		}
		w.say(t, "and now?", `{}`)
		if got := result(t, w.state(t), "y"); strings.Contains(got, "allowed-tools") {
			t.Errorf("%s: still refused in the next turn: %q", c.name, got)
		}
	}
}

// TestUnknownListsAllowHarmlessToolsOnly: skills that cannot be looked at any more once one was read.
func TestUnknownListsAllowHarmlessToolsOnly(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(gone, nil, 0o600))
	at, dir := filepath.Join(t.TempDir(), "skills"), t.TempDir()
	l := must.Get(skills.Open(skills.Options{Path: func() string { return at }, Shown: filepath.Join(dir, "shown"),
		State: func() string { return filepath.Join(dir, "extensions_config.json") },
		Log:   slog.New(slog.DiscardHandler)}))(t)
	calls := []agenttest.Reply{agenttest.Call("a", "cat", `{"path":"/mnt/skills/custom/free/SKILL.md"}`),
		agenttest.Call("y", "present_files", `{"filepaths":[]}`), agenttest.Call("z", "ls", `{"path":"."}`),
		agenttest.Say("done")}
	w := newWorld(t, calls, withShelf(l), func(_ *config.File, o *lead.Options) {
		o.Tools = []*agent.Tool{tool("cat", func(agent.ToolCall) agent.Result {
			at = gone
			return agent.TextResult("x")
		})}
	})
	w.say(t, "go", `{}`)
	state := w.state(t)
	if got := result(t, state, "z"); !strings.Contains(got, "allowed-tools") {
		t.Errorf("ls: %q", got)
	}
	if got := result(t, state, "y"); strings.Contains(got, "allowed-tools") {
		t.Errorf("present_files: %q", got)
	}
}

// result is what a call came back with.
func result(t *testing.T, s agent.State, call string) string {
	t.Helper()
	for _, m := range s.Messages {
		if m.Type == agent.TypeTool && m.ToolCallID == call {
			return m.Content.String()
		}
	}
	b, _ := json.Marshal(s.Messages)
	t.Fatalf("no result of %s in %s", call, b)
	return ""
}
