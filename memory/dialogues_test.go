package memory_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/memory"
)

// dialogue is a block of testdata/dialogues.txt.
type dialogue struct {
	name    string
	known   []memory.Fact
	said    []string
	says    map[string][]any // the model's answer
	offline bool
	unasked bool
	want    []string
	summary map[string]string
}

// dialogues reads them all.
func dialogues(t *testing.T) (list []dialogue) {
	t.Helper()
	b := must.Get(os.ReadFile("testdata/dialogues.txt"))(t)
	for n, line := range strings.Split(string(b), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		if word == "" || word == "#" {
			continue
		}
		if word == "==" {
			list = append(list, dialogue{name: rest, says: map[string][]any{}, summary: map[string]string{}})
			continue
		}
		if err := list[len(list)-1].read(word, rest); err != nil {
			t.Fatalf("testdata/dialogues.txt:%d: %v", n+1, err)
		}
	}
	return list
}

// read takes one line.
func (d *dialogue) read(word, rest string) error {
	head, content, _ := strings.Cut(rest, "|")
	content, avoid, _ := strings.Cut(content, "| not ")
	content, words := strings.TrimSpace(content), strings.Fields(head)
	switch word {
	case "has":
		f, err := fields(words[1:], content, "")
		d.known = append(d.known, memory.Fact{ID: words[0], Content: content, Category: f["category"].(string),
			Confidence: f["confidence"].(float64), Source: "t0", Created: aged(f["old"]), Updated: aged(f["old"])})
		return err
	case "you:", "ai:":
		d.said = append(d.said, rest)
	case "+":
		f, err := fields(words, content, strings.TrimSpace(avoid))
		d.says["newFacts"] = append(d.says["newFacts"], f)
		return err
	case "-":
		r := map[string]any{"id": words[0], "scope": "user"}
		if slices.Contains(words, "thread") {
			r["scope"] = "thread"
		}
		if i := slices.Index(words, "by"); i > 0 {
			at, err := strconv.Atoi(words[i+1])
			r["replacementFactIndex"] = at
			if err != nil {
				return err
			}
		}
		d.says["factsToRemove"] = append(d.says["factsToRemove"], r)
	case "=":
		d.says["factsToReinforce"] = append(d.says["factsToReinforce"], map[string]any{"id": words[0]})
	case "old-":
		d.says["staleFactsToRemove"] = append(d.says["staleFactsToRemove"], map[string]any{"id": words[0]})
	case "old+":
		days, err := strconv.Atoi(words[1])
		d.says["staleFactsToExtend"] = append(d.says["staleFactsToExtend"],
			map[string]any{"id": words[0], "expected_valid_days": days})
		return err
	case "sum":
		scope := "user"
		if len(words) > 1 {
			scope = words[1]
		}
		d.says[words[0]] = []any{map[string]any{"summary": content, "shouldUpdate": true, "scope": scope,
			"authority": "descriptive"}}
	case "none":
		d.offline = true
	case "unasked":
		d.unasked = true
	case "want":
		switch {
		case len(words) > 0:
			d.summary[words[0]] = content
		case content != "":
			d.want = append(d.want, content)
		}
	default:
		return fmt.Errorf("%q is not known", word)
	}
	return nil
}

// fields are those of a fact: labels in any order, then category and confidence.
func fields(words []string, content, avoid string) (map[string]any, error) {
	f := map[string]any{"content": content, "scope": "user", "durability": "durable", "authority": "descriptive",
		"old": 0}
	if avoid != "" {
		f["sourceError"] = avoid
	}
	for _, w := range words {
		number, err := strconv.ParseFloat(w, 64)
		key, value, pair := strings.Cut(w, "=")
		switch {
		case err == nil:
			f["confidence"] = number
		case pair:
			f[map[string]string{"old": "old", "days": "expected_valid_days"}[key]], err = strconv.Atoi(value)
			if err != nil {
				return f, err
			}
		case w == "thread", w == "project":
			f["scope"] = w
		case w == "temporary":
			f["durability"] = w
		case w == "transactional":
			f["authority"] = w
		default:
			f["category"] = w
		}
	}
	return f, nil
}

func aged(days any) time.Time {
	return time.Date(2026, 5, 1, 11, 0, 0, 0, time.UTC).AddDate(0, 0, -days.(int))
}

// answer is what the model says.
func (d *dialogue) answer(t *testing.T) string {
	t.Helper()
	all := map[string]any{}
	for key, list := range d.says {
		group, name, section := strings.Cut(key, ".")
		if all[key] = list; section {
			delete(all, key)
			all[group] = map[string]any{name: list[0]}
		}
	}
	b := must.Get(json.Marshal(all))(t)
	return string(b)
}

// TestDialogues learns from each dialogue with an empty memory but for what it says is known, and
// looks at all that is known afterwards: nothing about a task passes, and what corrects replaces.
func TestDialogues(t *testing.T) {
	list := dialogues(t)
	if len(list) < 100 {
		t.Errorf("only %d dialogues", len(list))
	}
	w := open(t)
	for i, d := range list {
		t.Run(d.name, func(t *testing.T) {
			must.Get(w.Import(t.Context(), me, 0, memory.Document{Facts: d.known}))(t)
			w.prompts, w.answer = nil, nil
			if !d.offline {
				w.says(d.answer(t))
			}
			thread := fmt.Sprint("t", i+1)
			w.thread(t, thread)
			w.said(t, thread, "r"+thread, d.said...)
			w.pass(time.Minute)
			w.Work(t.Context())
			if got := w.facts(t); !slices.Equal(got, append([]string{}, d.want...)) {
				t.Errorf("known: %q\nwant:  %q", got, d.want)
			}
			if asked := len(w.prompts) > 0; asked == d.unasked {
				t.Errorf("asked %v", asked)
			}
			sections := must.Get(w.Document(t.Context(), me))(t).Sections
			for _, name := range memory.SectionNames() {
				if sections[name].Summary != d.summary[name] {
					t.Errorf("%s: %q, want %q", name, sections[name].Summary, d.summary[name])
				}
			}
		})
	}
}
