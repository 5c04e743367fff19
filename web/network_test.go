package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fawn/web/webtest"
)

type hosts struct {
	Questions []struct {
		Host   string `json:"host"`
		Port   int    `json:"port"`
		Thread string `json:"thread_id"`
		At     string `json:"at"`
	} `json:"questions"`
	Decisions []struct {
		Host   string `json:"host"`
		Answer string `json:"answer"`
		Thread string `json:"thread_id"`
	} `json:"decisions"`
}

// hosts reads what a path tells about hosts, as one line.
func (s *server) hosts(t *testing.T, method, path, body string) string {
	t.Helper()
	var out []string
	h := decoded[hosts](t, s.send(t, method, path, body))
	for _, q := range h.Questions {
		out = append(out, fmt.Sprint(q.Thread, " asks ", q.Host, ":", q.Port))
	}
	for _, d := range h.Decisions {
		out = append(out, d.Thread+" "+d.Answer+" "+d.Host)
	}
	return strings.Join(out, "; ")
}

// nearby opens addresses of this machine, so that what is allowed neither needs names nor
// leaves it. Most likely nobody listens there.
const nearby = "sandbox: {network: {allow_private: [127.77.0.0/16]}}\n"

func TestADeniedHostIsAQuestionWhoseAnswerHoldsAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t)+nearby)
	s.networked(t)
	const refused = "HTTP/1.1 403 blocked"
	knocks := func(thread, host string) string {
		t.Helper()
		return strings.TrimSpace(s.bash(t, thread, knock(host))[0])
	}
	if got := knocks("n1", "127.77.0.1"); !strings.HasPrefix(got, refused) || !strings.Contains(got, "ask the owner") {
		t.Fatalf("a host nobody decided about: %q", got)
	}
	webtest.Same(t, "the question", s.hosts(t, "GET", "/api/threads/n1/network", ""), "n1 asks 127.77.0.1:443")
	for _, step := range []struct {
		thread, host, answer, knocker string
		open                          bool
		left                          string
	}{
		{"n1", "127.77.0.1", "once", "n1", true, "n1 once 127.77.0.1"},
		{"n1", "127.77.0.2", "thread", "n1", true, "n1 once 127.77.0.1; n1 thread 127.77.0.2"},
		{"n1", "127.77.0.1", "no", "n1", false, "n1 no 127.77.0.1; n1 thread 127.77.0.2"},
		{"n1", "127.77.0.1", "always", "n2", true, "n1 always 127.77.0.1; n1 thread 127.77.0.2"},
	} {
		body := fmt.Sprintf(`{"host": %q, "port": 443, "answer": %q}`, step.host, step.answer)
		webtest.Same(t, fmt.Sprintf("%s for %s leaves", step.answer, step.host), s.hosts(t, "POST", "/api/threads/"+step.thread+"/network", body), step.left)
		got := knocks(step.knocker, step.host)
		if strings.HasPrefix(got, refused) == step.open || !strings.HasPrefix(got, "HTTP/1.1 ") {
			t.Errorf("%s after %s to %s: %q", step.knocker, step.answer, step.host, got)
		}
	}
	if got := knocks("n2", "127.77.0.2"); !strings.HasPrefix(got, refused) {
		t.Errorf("another thread's answer: %q", got)
	}
	webtest.Same(t, "open to all", s.hosts(t, "GET", "/api/network", ""), "n1 always 127.77.0.1")
	webtest.Same(t, "after it was taken back", s.hosts(t, "DELETE", "/api/network?host=127.77.0.1", ""), "")
	if got := knocks("n3", "127.77.0.1"); !strings.HasPrefix(got, refused) {
		t.Errorf("after it was taken back: %q", got)
	}

	for name, c := range map[string]struct {
		method, path, body string
		want               int
	}{
		"no thread":     {"GET", "/api/threads/nowhere/network", "", http.StatusNotFound},
		"no thread yet": {"POST", "/api/threads/nowhere/network", `{"host": "a.invalid", "answer": "no"}`, http.StatusNotFound},
		"bad id":        {"GET", "/api/threads/a%2Fb/network", "", http.StatusUnprocessableEntity},
		"bad answer":    {"POST", "/api/threads/n1/network", `{"host": "a.invalid", "answer": "maybe"}`, http.StatusUnprocessableEntity},
		"bad host":      {"POST", "/api/threads/n1/network", `{"host": "a b", "answer": "no"}`, http.StatusUnprocessableEntity},
		"no host":       {"POST", "/api/threads/n1/network", `{"answer": "no"}`, http.StatusUnprocessableEntity},
		"not open":      {"DELETE", "/api/network?host=127.77.0.9", "", http.StatusNotFound},
	} {
		s.send(t, c.method, c.path, c.body).want(t, name, c.want)
	}
	s.send(t, "DELETE", "/api/threads/n1", "").must(t, "delete", http.StatusOK)
	s.send(t, "POST", "/threads", `{"thread_id": "n1"}`).must(t, "the id again", http.StatusOK)
	webtest.Same(t, "a deleted thread left", s.hosts(t, "GET", "/api/threads/n1/network", ""), "")
}

// TestTheReadersOfARunSeeTheQuestion: a question and its answer are events of the run, live
// and when it is read again.
func TestTheReadersOfARunSeeTheQuestion(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t)+nearby)
	s.networked(t)
	// The command goes on until the answer is there, so both are events of this run.
	wait := `until ` + strings.Replace(knock("127.77.0.3"), "head -n 1 <&3", "head -n 1 <&3 | grep -v '403'", 1) +
		`; do sleep 0.1; done; echo through`
	st := s.stream(t, t.Context(), "/threads/seen/runs/stream",
		human(scriptOf(t, wait), `"stream_mode": ["custom", "values"]`))
	question := st.until(t, "network_question")
	webtest.Holds(t, "the question", question, `"host":"127.77.0.3"`, `"port":443`, `"thread_id":"seen"`)
	got := s.hosts(t, "POST", "/api/threads/seen/network", `{"host": "127.77.0.3", "answer": "thread"}`)
	webtest.Same(t, "the answer", got, "seen thread 127.77.0.3")
	st.until(t, "network_answer")
	st.until(t, "through")
	for st.line.Scan() { // to its end
	}
	runs := decoded[[]struct {
		Run string `json:"run_id"`
	}](t, s.send(t, "GET", "/threads/seen/runs", ""))
	s.send(t, "GET", "/threads/seen/runs/"+runs[0].Run+"/stream?stream_mode=custom", "", "Last-Event-ID", "-1").holds(t, "read again", "network_question", "network_answer")
}
