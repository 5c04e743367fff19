package ui_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/web/webtest"
)

// says is a model that gives these answers in turn.
func says(words ...string) *agenttest.Script {
	m := &agenttest.Script{}
	for _, w := range words {
		m.Replies = append(m.Replies, agenttest.Say(w))
	}
	return m
}

// turnIDs are the ids of the turns on a page, the oldest first.
func turnIDs(page string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`<article id="t-([^"]+)"`).FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

// versionForm is the value that the button to another version sends; "" when it has none.
func versionForm(page, label string) string {
	m := regexp.MustCompile(`name="checkpoint" value="([^"]*)"/?>\s*<button[^>]*aria-label="` + label +
		`"([^>]*)>`).FindStringSubmatch(page)
	if m == nil || strings.Contains(m[2], "disabled") {
		return ""
	}
	return m[1]
}

// do posts an action as the page's script does, and brings the reader's page up to date.
func (r *reader) do(action string, form url.Values) {
	r.w.Helper()
	r.follow("/ui/threads/"+r.thread+"/"+action, form)
	r.w.settle(r.thread)
	// Where turns are taken away, a fresh page may have more turns from before in their place.
	if !strings.Contains(r.w.page("/workspace/chats/"+r.thread), `id="earlier"`) {
		r.equalsPage()
	}
}

func TestRegeneratedAnswersKeepTheirSiblings(t *testing.T) {
	for name, earlier := range map[string]int{"first turn": 0, "later turn": 2, "more turns than a page": 31} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var words []string
			for range earlier {
				words = append(words, "Before.")
			}
			w := open(t, says(append(words, "One.", "Two.", "Three.", "And then.")...))
			for range earlier {
				w.begin("t1", "Hello")
				w.settle("t1")
			}
			w.begin("t1", "Choose")
			w.settle("t1")
			r := w.reader("t1")
			for n, want := range []string{"One.", "Two.", "Three."} {
				page := w.page("/workspace/chats/t1")
				if !strings.Contains(page, want) || strings.Contains(page, "Versions") != (n > 0) {
					t.Fatalf("version %d: %s", n, page)
				}
				if n > 0 && strings.Count(page, "11 tokens") != min(earlier, 29)+1 {
					t.Errorf("version %d counts the tokens of others: %s", n, page)
				}
				if n < 2 {
					ids := turnIDs(page)
					r.do("regenerate", url.Values{"message": {ids[len(ids)-1]}})
				}
			}
			shown := func(want, not string) string {
				t.Helper()
				page := w.page("/workspace/chats/t1")
				if !strings.Contains(page, want) || strings.Contains(page, not) {
					t.Fatalf("not %q, or still %q, in %s", want, not, page)
				}
				return page
			}
			page := shown("Version 3 of 3", "One.")
			if versionForm(page, "Next version") != "" {
				t.Error("there is a version after the last")
			}
			for _, want := range []string{"Two.", "One."} {
				r.do("version", url.Values{"checkpoint": {versionForm(page, "Previous version")}})
				page = shown(want, "Three.")
			}
			// The conversation goes on from the version on screen, and both stay.
			w.begin("t1", "Go on")
			w.settle("t1")
			page = shown("And then.", "Three.")
			r = w.reader("t1")
			r.do("version", url.Values{"checkpoint": {versionForm(page, "Next version")}})
			page = shown("Two.", "And then.")
			r.do("version", url.Values{"checkpoint": {versionForm(page, "Previous version")}})
			shown("And then.", "Two.")
		})
	}
}

func TestEditReplacesWhatFollows(t *testing.T) {
	for _, scripted := range []bool{false, true} {
		w := open(t, says("First.", "Second.", "Changed."))
		for _, text := range []string{"One", "Two"} {
			w.begin("t1", text)
			w.settle("t1")
		}
		first := turnIDs(w.page("/workspace/chats/t1"))[0]
		form := w.page("/workspace/chats/t1?edit=" + first)
		if !strings.Contains(form, `name="message" value="`+first+`"`) || !strings.Contains(form, ">One</textarea>") {
			t.Fatal(form)
		}
		part := w.get("/ui/threads/t1/messages/"+first+"/edit", "HX-Request", "true")
		if !strings.Contains(part.body, ">One</textarea>") || strings.Contains(part.body, "<html") {
			t.Fatal(part.body)
		}
		if part := w.get("/ui/threads/t1/messages/"+first,
			"HX-Request", "true"); strings.Contains(part.body, "textarea") ||
			!strings.Contains(part.body, ">One</div>") {
			t.Fatal(part.body)
		}
		a := w.post("/ui/threads/t1/edit", url.Values{"message": {first}, "text": {" "}})
		webtest.Same(t, "an empty text", a.StatusCode, http.StatusUnprocessableEntity)
		w.post("/ui/threads/t1/edit", url.Values{"message": {"none"}, "text": {"x"}}).want(t, "an unknown message", http.StatusNotFound)
		say := url.Values{"message": {first}, "text": {"Another\r\nquestion"}}
		if scripted {
			w.reader("t1").do("edit", say)
		} else {
			w.post("/ui/threads/t1/edit", say).must(t, "/ui/threads/t1/edit", http.StatusSeeOther)
			w.settle("t1")
		}
		page := w.page("/workspace/chats/t1")
		if !strings.Contains(page, "Another\nquestion") || !strings.Contains(page, "Changed.") ||
			strings.Contains(page, "Second.") || !strings.Contains(page, "Version 2 of 2") {
			t.Fatal(page)
		}
		// The former telling is one step away, whole.
		w.post("/ui/threads/t1/version", url.Values{"checkpoint": {versionForm(page, "Previous version")}}).must(t, "/ui/threads/t1/version", http.StatusSeeOther)
		page = w.page("/workspace/chats/t1")
		if !strings.Contains(page, "Second.") || strings.Contains(page, "Changed.") {
			t.Fatal(page)
		}
	}
}

func TestNothingIsToldAnewWhileARunWorks(t *testing.T) {
	w := open(t, &typist{pause: 1, Script: *says("First.")})
	w.begin("t1", "One")
	w.settle("t1")
	id := turnIDs(w.page("/workspace/chats/t1"))[0]
	hold := make(chan struct{})
	w.model = &agenttest.Script{Replies: []agenttest.Reply{{Before: hold}}}
	w.begin("t1", "Two")
	for _, action := range []string{"regenerate", "edit", "version"} {
		a := w.post("/ui/threads/t1/"+action, url.Values{"message": {id}, "text": {"kept"}, "checkpoint": {head(t, w)}},
			script()...)
		a.want(t, action, http.StatusConflict, "press Stop")
	}
	close(hold)
	w.settle("t1")
}

func head(t *testing.T, w *world) string {
	t.Helper()
	th, err := w.db.Thread(t.Context(), "t1")
	must.Do(t, err)
	return th.Head
}

func TestBranchGoesOnFromATurn(t *testing.T) {
	w := open(t, says("First.", "Second."))
	for _, text := range []string{"One", "Two"} {
		w.begin("t1", text)
		w.settle("t1")
	}
	id := turnIDs(w.page("/workspace/chats/t1"))[0]
	a := w.post("/ui/threads/t1/branch", url.Values{"message": {id}})
	where := a.Header.Get("Location")
	if a.StatusCode != http.StatusSeeOther || where == "/workspace/chats/t1" {
		t.Fatal(a.StatusCode, a.body)
	}
	page := w.page(where)
	if ids := turnIDs(page); len(ids) != 1 || !strings.Contains(page, "First.") || strings.Contains(page, "Second.") {
		t.Fatal(page)
	}
	if !strings.Contains(page, "Branch of About: Two") && !strings.Contains(page, "Branch of About: One") {
		t.Errorf("the branch doesn't say where it comes from: %s", page)
	}
	f := decodeFrame(t, w.post("/ui/threads/t1/branch", url.Values{"message": {id}}, script()...).body)
	if !strings.HasPrefix(f.Location, "/workspace/chats/") {
		t.Errorf("the script goes to %q", f.Location)
	}
	w.post("/ui/threads/t1/branch", url.Values{"message": {"none"}}).want(t, "an unknown message", http.StatusNotFound)
}

func TestExportHasWhatWasSaid(t *testing.T) {
	w := open(t, journey(0))
	w.begin("t1", "Compare: the *two*")
	w.settle("t1")
	a := w.get("/ui/threads/t1/export.md")
	if a.StatusCode != http.StatusOK || !strings.Contains(a.Header.Get("Content-Disposition"), "attachment") ||
		!strings.HasPrefix(a.Header.Get("Content-Type"), "text/markdown") {
		t.Fatal(a.StatusCode, a.Header)
	}
	if strings.Contains(a.Header.Get("Content-Disposition"), "%3A") {
		t.Error("the name of the file has a colon", a.Header)
	}
	at := 0
	for _, want := range []string{"# About: Compare: the *two*", "## You", "Compare: the *two*", "## Fawn",
		"Let me look.", strings.TrimSpace(prose), "mnt/user-data/outputs/report.md"} {
		i := strings.Index(a.body[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing or out of order in %s", want, a.body)
		}
		at += i
	}
	var out struct {
		Thread string `json:"thread_id"`
		Values struct {
			Messages []struct{ Type string }
		}
	}
	a = w.get("/ui/threads/t1/export.json")
	if err := json.Unmarshal([]byte(a.body), &out); err != nil || out.Thread != "t1" || len(out.Values.Messages) < 6 ||
		out.Values.Messages[0].Type != "human" {
		t.Fatal(err, a.body)
	}
	w.get("/ui/threads/none/export.md").want(t, "an unknown thread", http.StatusNotFound)
}
