package ui_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/web/ui"
	"fawn/web/webtest"
)

func TestChatsAreFoundByTitleAndByMessage(t *testing.T) {
	w := open(t,
		&agenttest.Script{Replies: slices.Repeat([]agenttest.Reply{agenttest.Say("The boiler burns <b>gas</b>.")}, 3)})
	for id, text := range map[string]string{"t1": "Heat pump or gas?", "t2": "A poem about Ärmelkanal",
		"t3": "将采集脚本移植到 Go"} {
		w.begin(id, text)
		w.settle(id)
	}
	find := func(q string) (ids string, page string) {
		page = w.page("/workspace/chats?q=" + q)
		for _, m := range regexp.MustCompile(`name="thread" value="(\w+)"`).FindAllStringSubmatch(page, -1) {
			ids += m[1]
		}
		return ids, page
	}
	for q, want := range map[string]string{"heat+PUMP": "t1", "pump+heat": "t1", "%C3%A4rmel": "t2",
		"%E8%84%9A%E6%9C%AC": "t3", "assistant": "", "about": "t1t2t3"} {
		ids, page := find(q)
		if len(ids) != len(want) || ids != want && q != "about" {
			t.Errorf("%s: %q, want %q", q, ids, want)
		}
		if want == "" && !strings.Contains(page, "No results for “"+q+"”.") {
			t.Errorf("%s: the page does not say that nothing was found", q)
		}
	}
	_, page := find("boiler")
	if !strings.Contains(page, "The <b>boiler</b> burns &lt;b&gt;gas&lt;/b&gt;.") ||
		!strings.Contains(page, `/workspace/chats/t1?at=`) {
		t.Errorf("no excerpt: %s", between(page, `<ul class="rows">`, "</ul>"))
	}
	w.get("/ui/threads?q=heat", "HX-Request", "true").holds(t, "as a part", "!<html", `value="t1"`)
	a := w.get("/ui/threads?q=heat")
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/workspace/chats?q=heat" {
		t.Error("as a page:", a.StatusCode, a.Header.Get("Location"))
	}
}

func TestChatsAreNarrowedDownToChatApps(t *testing.T) {
	w := open(t, &agenttest.Script{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	add := func(id, title, meta string) {
		th := &store.Thread{ID: id, Title: title, Owner: "default", CreatedAt: at, UpdatedAt: at,
			Metadata: []byte(meta)}
		must.Do(t, w.db.Commit(t.Context(), store.Batch{Thread: th}))
	}
	add("w1", "Boiler", `{}`)
	webtest.Holds(t, "there is a filter though no chat app was ever used", w.page("/workspace/chats"), `!name="from"`)
	add("t1", "Boiler", `{"channel_source":{"provider":"telegram"}}`)
	add("s1", "Poem", `{"channel_source":{"provider":"slack"}}`)
	for query, want := range map[string]string{
		"": "w1 t1 s1", "?from=channels": "t1 s1", "?from=telegram": "t1", "?from=discord": "",
		"?from=channels&q=boiler": "t1", "?from=nonsense": "w1 t1 s1",
	} {
		got := map[string]bool{}
		page := w.page("/workspace/chats" + query)
		for _, m := range regexp.MustCompile(`name="thread" value="(\w+)"`).FindAllStringSubmatch(page, -1) {
			got[m[1]] = true
		}
		if len(got) != len(strings.Fields(want)) || slices.ContainsFunc(strings.Fields(want), func(id string) bool {
			return !got[id]
		}) {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	webtest.Holds(t, "the empty page does not say which chats it looked for", w.page("/workspace/chats?from=discord"),
		"No chats from Discord yet.", `<option value="discord" selected>From Discord</option>`)
	for i := range 60 {
		add(fmt.Sprintf("m%02d", i), "More", `{"channel_source":{"provider":"telegram"}}`)
	}
	more := regexp.MustCompile(`hx-get="(/ui/threads\?[^"]+)"`)
	next := more.FindStringSubmatch(w.page("/workspace/chats?from=telegram"))
	if next == nil || !strings.Contains(next[1], "from=telegram") {
		t.Fatal("the next page forgets the filter:", next)
	}
	rest := w.get(strings.ReplaceAll(next[1], "&amp;", "&"), "HX-Request", "true").body
	if n := strings.Count(rest, `name="thread"`); n != 11 || strings.Contains(rest, `value="s1"`) {
		t.Errorf("%d more chats: %s", n, rest)
	}
}

func TestAllChatsComePageByPage(t *testing.T) {
	w := open(t, &agenttest.Script{})
	const n = 120
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range n {
		th := &store.Thread{ID: fmt.Sprintf("t%03d", i), Title: "Chat", Owner: "default", CreatedAt: at,
			UpdatedAt: at.Add(time.Duration(i) * time.Second)}
		if i == 3 {
			th.Metadata = []byte(`{"deerflow_pinned":true}`)
		}
		must.Do(t, w.db.Commit(t.Context(), store.Batch{Thread: th}))
	}
	ids := regexp.MustCompile(`name="thread" value="(\w+)"`)
	next := regexp.MustCompile(`hx-get="(/ui/threads\?[^"]+)"`)
	seen, sizes := map[string]bool{}, []int{}
	body := w.page("/workspace/chats")
	if first := ids.FindStringSubmatch(body); first == nil || first[1] != "t003" {
		t.Error("the pinned one is not first", first)
	}
	for {
		rows := ids.FindAllStringSubmatch(body, -1)
		sizes = append(sizes, len(rows))
		for _, r := range rows {
			if seen[r[1]] {
				t.Errorf("%s is there twice", r[1])
			}
			seen[r[1]] = true
		}
		more := next.FindStringSubmatch(body)
		if more == nil {
			break
		}
		body = w.get(strings.ReplaceAll(more[1], "&amp;", "&"), "HX-Request", "true").body
	}
	if len(seen) != n || fmt.Sprint(sizes) != "[50 50 20]" {
		t.Errorf("%d chats in pages of %v", len(seen), sizes)
	}
}

func TestAnExcerptShowsThePlace(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for name, c := range map[string]struct{ body, word, want string }{
		"short":          {`{"type":"human","content":"one two"}`, "TWO", "one two"},
		"in the middle":  {`{"type":"ai","content":"` + long + `needle ` + long + `"}`, "needle", "… " + strings.Repeat("word ", 7) + "needle " + strings.Repeat("word ", 23) + "wo …"},
		"no spaces":      {`{"type":"ai","content":"` + strings.Repeat("热", 300) + `泵"}`, "泵", "… " + strings.Repeat("热", 40) + "泵"},
		"folded longer":  {`{"type":"ai","content":"` + strings.Repeat("İ", 60) + ` needle"}`, "needle", "… " + strings.Repeat("İ", 39) + " needle"},
		"Markdown":       {`{"type":"ai","content":"## A **needle** in\n\n- the ` + "`hay`" + ` and a [link](https://example.org)"}`, "needle", "A needle in the hay and a link"},
		"only in a mark": {`{"type":"ai","content":"a [link](https://needle.example)"}`, "needle", "a [link](https://needle.example)"},
		"not Markdown":   {`{"type":"human","content":"a **needle**"}`, "needle", "a **needle**"},
		"blocks":         {`{"type":"ai","content":[{"type":"text","text":"in a block"},{"type":"image","data":"block"}]}`, "block", "in a block"},
		"of a tool":      {`{"type":"tool","tool_call_id":"c","content":"needle"}`, "needle", ""},
		"hidden":         {`{"type":"human","content":"needle","additional_kwargs":{"hide_from_ui":true}}`, "needle", ""},
		"in a key":       {`{"type":"human","content":"x"}`, "content", ""},
		"broken":         {`{"type":`, "type", ""},
		"turned around":  {`{"type":"human","content":"a \u202eneedle"}`, "needle", "a needle"},
		"several lines":  {`{"type":"human","content":"a\n\n  needle\tb"}`, "needle", "a needle b"},
		"nothing is cut": {`{"type":"human","content":"needle"}`, "needle", "needle"},
	} {
		if got, ok := ui.Excerpt([]byte(c.body), []string{c.word}); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q %v, want %q", name, got, ok, c.want)
		}
	}
}
