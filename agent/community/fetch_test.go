package community_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"

	"fawn/agent/agenttest/must"
	"fawn/agent/community"
)

// story is a page with a text between what belongs to every page of its site.
func story(words string) string {
	return `<html><head><title>Foxes</title></head><body><nav><a href="/">Home</a> <a href="/about">About us</a></nav>
<article><h1>Foxes</h1>` + strings.Repeat("<p>"+words+
		" lives in the forest, and hunts at night for mice and small birds, which it hears from far away.</p>", 6) +
		`<p>See the <a href="../more?x=1">other page</a>.</p></article><footer>All rights reserved</footer></body></html>`
}

func TestAPageIsReadAsMarkdown(t *testing.T) {
	w := newWorld(t, local(nil))
	s := serve(t, func(rw http.ResponseWriter, r *http.Request, _ string) {
		if r.URL.Path == "/a/old" {
			http.Redirect(rw, r, "/a/new", http.StatusMovedPermanently)
			return
		}
		if r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" {
			t.Error("something of ours was sent along")
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(rw, story("The fox"))
	})
	w.open(s.Server)
	r := w.call(community.WebFetch, fmt.Sprintf(`{"url":"%s/a/old#part"}`, s.URL))
	got := r.Content.String()
	for _, part := range []string{"# Foxes\n\nSource 1: " + s.URL + "/a/new\nRead: 2026-05-01 12:00 UTC\n",
		"The fox lives", "[other page](" + s.URL + "/more?x=1)"} {
		if !strings.Contains(got, part) {
			t.Errorf("lacks %q:\n%s", part, got)
		}
	}
	for _, part := range []string{"About us", "All rights"} {
		if strings.Contains(got, part) {
			t.Errorf("has %q:\n%s", part, got)
		}
	}
	if a := community.ReadArtifact(r.Artifact); a == nil || a.Read != "2026-05-01T12:00:00Z" || len(a.Sources) != 1 ||
		a.Sources[0].Title != "Foxes" {
		t.Errorf("artifact %s", r.Artifact)
	}
}

// TestAPageIsKeptForItsThread: for an hour, with the time it was read; another thread reads it
// again, and so does a call that asks for it.
func TestAPageIsKeptForItsThread(t *testing.T) {
	w := newWorld(t, local(nil))
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) {
		rw.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(rw, "text")
	})
	w.open(s.Server)
	read := func(args, want string, asked int) {
		t.Helper()
		got := w.call(community.WebFetch, fmt.Sprintf(`{"url":"%s/x"%s}`, s.URL, args)).Content.String()
		if !strings.Contains(got, "Read: "+want+"\n") || len(s.asked()) != asked {
			t.Errorf("asked %d times, want %d: %s", len(s.asked()), asked, got)
		}
	}
	read("", "2026-05-01 12:00 UTC", 1)
	w.now = w.now.Add(59 * time.Minute)
	read("", "2026-05-01 12:00 UTC (kept from then)", 1)
	read(`,"refresh":true`, "2026-05-01 12:59 UTC", 2)
	w.now = w.now.Add(time.Hour)
	read("", "2026-05-01 13:59 UTC", 3)
	w.turn.ThreadID = "another"
	read("", "2026-05-01 13:59 UTC", 4)
	w.s.Forget("another")
	read("", "2026-05-01 13:59 UTC", 5)
}

func TestCharsetsAreRead(t *testing.T) {
	latin := must.Get(charmap.Windows1252.NewEncoder().String("Füchse – “schlau”"))(t)
	jis := must.Get(japanese.ShiftJIS.NewEncoder().String("きつね"))(t)
	for name, c := range map[string]struct{ kind, body, want string }{
		"header":  {"text/html; charset=windows-1252", story(latin), "Füchse – “schlau”"},
		"meta":    {"text/html", strings.Replace(story(jis), "<head>", `<head><meta charset="Shift_JIS">`, 1), "きつね"},
		"mark":    {"text/plain; charset=iso-8859-1", "\xef\xbb\xbfFüchse", "Füchse"},
		"none":    {"", strings.Replace(story("Füchse"), "<html>", "<!DOCTYPE html><html>", 1), "Füchse"},
		"text":    {"text/plain; charset=windows-1252", latin, "Füchse – “schlau”"},
		"utf-16":  {"text/plain", "\xff\xfeF\x00\xfc\x00x\x00", "Füx"},
		"unknown": {"text/plain; charset=klingon", "plain", "plain"},
	} {
		w := newWorld(t, local(nil))
		s := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) {
			rw.Header()["Content-Type"] = []string{c.kind}
			fmt.Fprint(rw, c.body)
		})
		w.open(s.Server)
		got := w.call(community.WebFetch, fmt.Sprintf(`{"url":%q}`, s.URL)).Content.String()
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %.300q", name, got)
		}
	}
}

func TestWhatAPageAnswersWith(t *testing.T) {
	for name, c := range map[string]struct {
		status           int
		kind, body, want string
	}{
		"json":        {200, "application/json", `{"a":1}`, `{"a":1}`},
		"rtf":         {200, "application/rtf", `{\rtf1 Hello from a document.}`, "Hello from a document."},
		"html bytes":  {200, "application/octet-stream", story("The fox"), "The fox lives"},
		"picture":     {200, "image/png", "\x89PNG", "Error: web_fetch: can't be read as text: it is of the type image/png"},
		"program":     {200, "application/x-executable", "\x7fELF\x00", "Error: web_fetch: can't be read as text"},
		"missing":     {404, "text/html", "gone", "Error: web_fetch: the request was rejected: Not Found (HTTP 404)"},
		"login":       {401, "text/html", "login", "Error: web_fetch: the request was rejected: Unauthorized (HTTP 401)"},
		"limit":       {429, "text/html", "slow", "Error: web_fetch: rate limit reached: Too Many Requests (HTTP 429)"},
		"captcha":     {403, "text/html", `<script src="/cdn-cgi/challenge-platform/x.js">`, "Error: web_fetch: asks for a captcha (HTTP 403)"},
		"empty":       {200, "text/html", "<html><body><div id=root></div></body></html>", "Error: web_fetch: no results found: no content found"},
		"broken docx": {200, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "PK\x03\x04 nothing", "Error: web_fetch: can't be read as text: the converter says"},
		"too large":   {200, "text/plain", strings.Repeat("x", 10<<20+1), "Error: web_fetch: too large"},
		"short page":  {200, "text/html", "<title>T</title><nav>menu</nav><p>Just <b>this</b>.</p>", "Just **this**."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, local(nil))
			s := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) {
				rw.Header().Set("Content-Type", c.kind)
				rw.WriteHeader(c.status)
				fmt.Fprint(rw, c.body)
			})
			w.open(s.Server)
			r := w.call(community.WebFetch, fmt.Sprintf(`{"url":%q}`, s.URL))
			got := r.Content.String()
			if !strings.Contains(got, c.want) || r.IsError != strings.HasPrefix(c.want, "Error: ") {
				t.Errorf("error %v: %.300s\nwant %s", r.IsError, got, c.want)
			}
		})
	}
}

// TestReadersOfOthers: each in its form, and our own fetcher when one fails.
func TestReadersOfOthers(t *testing.T) {
	for name, c := range map[string]struct{ asked, answer string }{
		"jina":      {`POST / {"url":"https://a.example/p"}`, `{"code":200,"status":20000,"data":{"title":"Foxes","description":"","url":"https://a.example/p","content":"Red **fox**."}}`},
		"firecrawl": {`"formats":["markdown"]`, `{"success":true,"data":{"markdown":"Red **fox**.","metadata":{"title":"Foxes","sourceURL":"https://a.example/p","statusCode":200}}}`},
		"tavily":    {`"urls":["https://a.example/p"]`, `{"results":[{"url":"https://a.example/p","raw_content":"# Foxes\n\nRed **fox**."}],"failed_results":[]}`},
		"exa":       {`"urls":["https://a.example/p"]`, `{"results":[{"title":"Foxes","url":"https://a.example/p","text":"Red **fox**."}]}`},
		"infoquest": {`"format":"HTML"`, `{"reader_result":"<title>Foxes</title><p>Red <b>fox</b>.</p>"}`},
	} {
		w := newWorld(t, nil)
		s := serve(t, func(rw http.ResponseWriter, r *http.Request, _ string) {
			if got := r.Header.Get("Authorization") + r.Header.Get("x-api-key"); !strings.HasSuffix(got, canary) {
				t.Errorf("%s: no key", name)
			}
			fmt.Fprint(rw, c.answer)
		})
		chosen(w, community.WebFetch, name, s.URL)
		w.set.Fetch.Key = canary
		got := w.call(community.WebFetch, `{"url":"https://a.example/p#part"}`).Content.String()
		if !strings.Contains(got, "Source 1: https://a.example/p\n") || !strings.Contains(got, "Red **fox**.") ||
			!strings.Contains(s.asked()[0], c.asked) {
			t.Errorf("%s: %s\nasked %s", name, got, s.asked())
		}
	}
	w := newWorld(t, local(nil))
	jina := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) { rw.WriteHeader(402) })
	page := serve(t, func(rw http.ResponseWriter, _ *http.Request, _ string) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, story("The fox"))
	})
	chosen(w, community.WebFetch, "jina", jina.URL)
	w.open(page.Server)
	w.set.Fallback = true
	got := w.call(community.WebFetch, fmt.Sprintf(`{"url":%q}`, page.URL)).Content.String()
	if !strings.Contains(got, "Note: jina: the quota of the plan is used up (HTTP 402)\n") ||
		!strings.Contains(got, "The fox lives") {
		t.Errorf("after jina: %s", got)
	}
}

// TestARunThatIsStoppedIsNoFailureOfThePage: the error is the run's, so that nothing else is
// tried.
func TestARunThatIsStoppedIsNoFailureOfThePage(t *testing.T) {
	w := newWorld(t, local(nil))
	ctx, cancel := context.WithCancelCause(t.Context())
	s := serve(t, func(_ http.ResponseWriter, r *http.Request, _ string) {
		cancel(context.Canceled)
		<-r.Context().Done() // an answer could be read before the client sees that it was stopped
	})
	w.open(s.Server)
	tool := w.s.Tools()[1]
	if _, err := tool.Run(ctx, w.turn, callOf(community.WebFetch, fmt.Sprintf(`{"url":%q}`, s.URL))); err == nil {
		t.Error("no error")
	}
}
