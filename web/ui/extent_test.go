package ui_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/runs"
	"fawn/web/webtest"
)

// longChat is a thread of n turns that were imported, and their messages' ids: q0, a0, q1 ...
func longChat(t *testing.T, n int) *world {
	t.Helper()
	w := open(t, &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("The newest answer.")}})
	var list []string
	for i := range n {
		list = append(list,
			fmt.Sprintf(`{"type":"human","id":"q%d","content":"Question %d."},{"type":"ai","id":"a%d","content":"Answer %d."}`, i, i, i, i))
	}
	w.begin("t1", "First")
	w.settle("t1")
	_, err := w.runs.UpdateState(t.Context(), "t1",
		runs.Update{Values: []byte(`{"messages":[` + strings.Join(list, ",") + `]}`)})
	must.Do(t, err)
	return w
}

var questions = regexp.MustCompile(`>(Question \d+)\.<`)

// asked are the questions on a page: the first, the last and how many.
func asked(page string) string {
	all := questions.FindAllStringSubmatch(page, -1)
	if len(all) == 0 {
		return "none"
	}
	return fmt.Sprintf("%s to %s, %d", all[0][1], all[len(all)-1][1], len(all))
}

func TestAPageAtAMessageShowsTheNewestTurnsToo(t *testing.T) {
	w := longChat(t, 200)
	for at, want := range map[string]string{
		"":     "Question 170 to Question 199, 30",
		"a199": "Question 170 to Question 199, 30",
		"a190": "Question 170 to Question 199, 30",
		"q150": "Question 130 to Question 199, 70",
		"a100": "Question 80 to Question 199, 60",
		"q3":   "Question 0 to Question 199, 43",
		"gone": "Question 170 to Question 199, 30",
	} {
		page := w.page("/workspace/chats/t1?at=" + at)
		webtest.Same(t, fmt.Sprintf("at %q", at), asked(page), want)
		if strings.Contains(at, "1") && len(at) > 1 && at != "a199" && !strings.Contains(page, `id="m-`+at+`"`) {
			t.Errorf("at %q: the message cannot be scrolled to", at)
		}
	}
	if page := w.page("/workspace/chats/t1?at=a100"); strings.Count(page, `class="gap"`) != 2 {
		t.Errorf("%d gaps, want one before and one behind", strings.Count(page, `class="gap"`))
	}
}

// fills follows the links of gaps one way and collects what they bring.
func (w *world) fills(page, id string, link int) (steps int, got string) {
	for {
		gap := between(page, `id="`+id+`"`, "</p>")
		links := regexp.MustCompile(`data-turns="([^"]+)"`).FindAllStringSubmatch(gap, -1)
		if len(links) == 0 {
			return steps, got
		}
		a := w.get(html.UnescapeString(links[min(link, len(links)-1)][1]), "X-Fawn", "1")
		a.must(w, "the answer", http.StatusOK)
		page, steps = a.body, steps+1
		got += asked(page) + "; "
		if m := regexp.MustCompile(`class="gap" id="([^"]+)"`).FindStringSubmatch(page); m != nil {
			id = m[1]
		} else {
			return steps, got
		}
	}
}

func TestGapsFillFromBothEnds(t *testing.T) {
	w := longChat(t, 200)
	page := w.page("/workspace/chats/t1?at=a100")
	_, got := w.fills(page, "gap-q170", 0)
	webtest.Same(t, "downwards", got, "Question 110 to Question 139, 30; Question 140 to Question 169, 30; ")
	if _, got := w.fills(page,
		"gap-q170", 1); got != "Question 140 to Question 169, 30; Question 110 to Question 139, 30; " {
		t.Error("upwards:", got)
	}
	if n, got := w.fills(w.page("/workspace/chats/t1"), "gap-q170", 1); n != 6 ||
		!strings.HasSuffix(got, "Question 0 to Question 19, 20; ") {
		t.Errorf("to the beginning in %d steps: %s", n, got)
	}
	w.get("/ui/threads/t1/turns?before=none", "X-Fawn", "1").want(t, "a turn that is not there", http.StatusNotFound)
	a := w.get("/ui/threads/t1/turns?before=q170")
	if a.StatusCode != http.StatusSeeOther ||
		!strings.Contains(a.Header.Get("Location"), "/workspace/chats/t1?at=q170") {
		t.Error("as a page:", a.StatusCode, a.Header.Get("Location"))
	}
}

func TestAnEarlierMessageCanBeEdited(t *testing.T) {
	w := longChat(t, 100)
	w.get("/ui/threads/t1/messages/q5/edit", "X-Fawn", "1").want(t, "its form", http.StatusOK, "Question 5.</textarea>")
	webtest.Holds(t, "the page with its form lacks it", w.page("/workspace/chats/t1?edit=q5"), "Question 5.</textarea>")
	w.post("/ui/threads/t1/edit", url.Values{"message": {"q5"}, "text": {"Another way"}}, script()...).want(t, "sent", http.StatusOK, `"location"`)
}

func TestWhatIsSentStandsBehindTheNewestTurns(t *testing.T) {
	w := longChat(t, 100)
	w.post("/ui/threads/t1/messages", url.Values{"text": {"What next?"}}).must(t, "/ui/threads/t1/messages", http.StatusSeeOther)
	w.settle("t1")
	for _, path := range []string{"/workspace/chats/t1", "/workspace/chats/t1?at=q5"} {
		page := w.page(path)
		if i, j := strings.Index(page, ">Question 99.<"), strings.Index(page, ">What next?<"); i < 0 || j < i ||
			strings.Contains(page[i:j], `class="gap"`) {
			t.Errorf("%s: something is left out in front of it", path)
		}
	}
}
