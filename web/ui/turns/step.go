package turns

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fawn/agent"
	"fawn/agent/runs/runevent"
	"fawn/agent/tools"
	"fawn/views"
	"fawn/web/ui/page"
)

// Limits of a step's content on the page, in bytes. The whole output is loaded on demand.
const (
	maxStepOutput = 2 << 10
	maxStepLine   = 300
)

// StepID returns a tool call's id on the page. Models repeat the ids of calls and may write anything into them; the
// message makes them unique, and unusual ones are hashed.
func StepID(message, call string) string {
	plain := len(call) <= 64 && strings.IndexFunc(call, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) < 0
	if !plain {
		sum := sha256.Sum256([]byte(call))
		call = hex.EncodeToString(sum[:12])
	}
	return message + "." + call
}

// MessageCalls returns the calls of an AI message, broken ones last.
func MessageCalls(m *agent.Message) []Call {
	var list []Call
	for _, c := range m.ToolCalls {
		list = append(list, Call{c.ID, c.Name, c.Args})
	}
	for _, c := range m.Invalid {
		list = append(list, Call{c.ID, c.Name, json.RawMessage(c.Args)})
	}
	return list
}

// Finish writes the result of a call into its step.
func Finish(s *views.Step, m *agent.Message) {
	text := m.Content.String()
	s.State, s.Since = views.StepDone, noTime
	s.Bytes, s.Lines = int64(len(text)), lines(text)
	s.Output = page.Head(text, maxStepOutput)
	if s.Tool == "bash" { // the last lines are the ones worth showing
		s.Output = page.Tail(text, maxStepOutput)
	}
	if s.Tool == "web_search" {
		s.Sites = sites(text)
	}
	s.Web, s.Browser = webOf(m), browsedOf(m)
	s.Made, s.App = pictures(s.ThreadID, m), appOf(m)
	exit, _ := m.Kwargs[tools.ExitCodeKey].(float64)
	switch {
	case text == agent.InterruptedResult:
		s.State = views.StepStop
	case s.Tool == "task":
		finishHelper(s, m, text)
	case m.Status == "error":
		s.State = views.StepFail
		s.Error = FirstLine(text)
	case s.Tool == "bash" && exit != 0:
		s.State, s.Exit = views.StepFail, int(exit)
	}
}

// maxSites limits the distinct sites of one search.
const maxSites = 40

// link is the address of a result in JSON.
var link = regexp.MustCompile(`"(?:url|link|href|source)"\s*:\s*"https?://([\w.-]+)`)

// address matches a page's address in a text; only the host matters.
var address = regexp.MustCompile(`https?://([\w.-]+)`)

// sites returns the distinct hosts in a search result, in order. Page texts may mention other hosts: if there is a
// member for the address, only that counts.
func sites(text string) (out []string) {
	found := link.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		found = address.FindAllStringSubmatch(text, -1)
	}
	for _, m := range found {
		if host := strings.TrimPrefix(strings.ToLower(m[1]), "www."); !slices.Contains(out, host) {
			if out = append(out, host); len(out) == maxSites {
				break
			}
		}
	}
	return out
}

// lines counts the lines of an output.
func lines(s string) int {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return 0
	}
	return strings.Count(s, "\n") + 1
}

// FirstLine returns the part of a text that fits on the card of a step.
func FirstLine(s string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return page.Head(first, maxStepLine)
}

// Presented returns the paths in the arguments of present_files, in each form it reads.
func Presented(args json.RawMessage) []string {
	var a map[string]json.RawMessage
	if json.Unmarshal(args, &a) != nil {
		return nil
	}
	for _, name := range []string{"filepaths", "file_paths"} {
		var list []string
		var one string
		if json.Unmarshal(a[name], &list) == nil && len(list) > 0 {
			return list
		}
		if json.Unmarshal(a[name], &one) == nil && one != "" {
			return []string{one}
		}
	}
	return nil
}

// ResultOf returns the tool message of a finished call, or nil.
func ResultOf(ev runevent.Event) *agent.Message {
	var end runevent.ToolEnd
	if ev.Kind != runevent.KindToolResult || ev.NS != "" || json.Unmarshal(ev.Data, &end) != nil {
		return nil
	}
	m, err := agent.ParseMessage(end.Message)
	if err != nil {
		return nil
	}
	return m
}

// pictures returns the pictures that a call made, nil where it made none.
func pictures(thread string, m *agent.Message) *views.Pictures {
	a := tools.ReadPictures(m.Artifact)
	if a == nil || m.Name != tools.GenerateImage && m.Name != tools.EditImage {
		return nil
	}
	p := &views.Pictures{Prompt: a.Prompt, Model: a.Model, Edit: a.Source != ""}
	if a.Seed != nil {
		p.Seed = strconv.FormatInt(*a.Seed, 10)
	}
	for _, f := range a.Files {
		p.Files = append(p.Files, views.File{ThreadID: thread, Path: strings.TrimPrefix(f, "/"), New: true})
	}
	return p
}
