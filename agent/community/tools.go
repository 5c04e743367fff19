package community

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/tools"
)

var (
	//go:embed web_search.md
	webSearchText string
	//go:embed web_fetch.md
	webFetchText string
	//go:embed image_search.md
	imageSearchText string
)

type searchArgs struct {
	Query string `json:"query" jsonschema:"what to search for, in a few words"`
	Most  int    `json:"max_results,omitempty" jsonschema:"results wanted, 5 unless given"`
}

type fetchArgs struct {
	URL    string `json:"url" jsonschema:"the whole address, beginning with https:// or http://"`
	Render bool   `json:"render,omitempty" jsonschema:"show the page in a browser, for pages that scripts write"`
	Fresh  bool   `json:"refresh,omitempty" jsonschema:"read it again although it was read within the hour"`
}

type imageArgs struct {
	Query  string `json:"query" jsonschema:"what the pictures should show, in a few words"`
	Most   int    `json:"max_results,omitempty" jsonschema:"pictures wanted, 5 unless given"`
	Size   string `json:"size,omitempty" jsonschema:"Small, Medium, Large or Wallpaper"`
	Kind   string `json:"type_image,omitempty" jsonschema:"photo, clipart, gif, transparent or line"`
	Layout string `json:"layout,omitempty" jsonschema:"Square, Tall or Wide"`
}

// Tools returns the web tools for models.
func (s *Service) Tools() []*agent.Tool {
	return []*agent.Tool{
		tools.New(WebSearch, Group, webSearchText, s.webSearch),
		tools.New(WebFetch, Group, webFetchText, s.webFetch),
		tools.New(ImageSearch, Group, imageSearchText, s.imageSearch),
	}
}

// maxQuery is the length of a query in characters.
const maxQuery = 400

func query(s string) (string, bool) {
	s = agent.Head(strings.Join(strings.Fields(agent.Visible(strings.ToValidUTF8(s, ""))), " "), maxQuery)
	return s, s != ""
}

func (s *Service) webSearch(ctx context.Context, t *agent.Turn, a searchArgs) (agent.Result, error) {
	q, ok := query(a.Query)
	if !ok {
		return agent.ErrorResult(`Error: argument "query" is empty`), nil
	}
	out, err := s.search(ctx, q, a.Most)
	if err != nil {
		return nothing(q, "No results found", out.notes, err)
	}
	urls := make([]string, len(out.found))
	for i, h := range out.found {
		urls[i] = h.URL
	}
	art := Artifact{Provider: out.provider, Notes: out.notes}
	for i, n := range s.numbers.take(t, urls) {
		out.found[i].Number = n
		art.Sources = append(art.Sources, Source{n, out.found[i].Title, out.found[i].URL})
	}
	return answer(map[string]any{"query": q, "total_results": len(out.found), "results": out.found}, out.notes, art)
}

func (s *Service) imageSearch(ctx context.Context, _ *agent.Turn, a imageArgs) (agent.Result, error) {
	q, ok := query(a.Query)
	if !ok {
		return agent.ErrorResult(`Error: argument "query" is empty`), nil
	}
	out, err := s.searchImages(ctx, imageQuery{text: q, most: a.Most, size: a.Size, kind: a.Kind, layout: a.Layout})
	if err != nil {
		return nothing(q, "No images found", out.notes, err)
	}
	return answer(map[string]any{"query": q, "total_results": len(out.found), "results": out.found,
		"usage_hint": "The pictures are on other sites; name the page of one that you use."}, out.notes,
		Artifact{Provider: out.provider, Notes: out.notes, Images: out.found})
}

// answer returns a good result.
func answer(body map[string]any, notes []string, art Artifact) (agent.Result, error) {
	if len(notes) > 0 {
		body["notes"] = notes
	}
	text, err := agent.Encode(body)
	if err != nil {
		return agent.Result{}, err
	}
	return with(agent.TextResult(string(text)), art)
}

func with(r agent.Result, art Artifact) (agent.Result, error) {
	raw, err := agent.Encode(artifact{&art})
	r.Artifact = raw
	return r, err
}

// nothing returns the result of a search without results, with all reasons. It isn't a failure if every service
// answered.
func nothing(q, text string, notes []string, err error) (agent.Result, error) {
	var p *Problem
	if !errors.As(err, &p) {
		return agent.Result{}, err
	}
	failed := false
	for _, n := range notes {
		failed = failed || !strings.HasSuffix(n, (&Problem{Class: Empty}).words())
	}
	if failed || len(notes) == 0 {
		text = "The search failed"
		if len(notes) == 0 {
			notes = []string{p.Error()}
		}
	}
	body, err := agent.Encode(map[string]any{"error": text, "query": q, "notes": notes})
	if err != nil {
		return agent.Result{}, err
	}
	r := agent.TextResult(string(body))
	if failed {
		r = agent.ErrorResult("Error: " + text + ": " + strings.Join(notes, "; "))
	}
	return with(r, Artifact{Notes: notes})
}

func (s *Service) webFetch(ctx context.Context, t *agent.Turn, a fetchArgs) (agent.Result, error) {
	p, kept, err := s.fetch(ctx, t.ThreadID, a)
	if err != nil {
		var why *Problem
		if !errors.As(err, &why) {
			return agent.Result{}, err
		}
		return with(agent.ErrorResult("Error: "+err.Error()), Artifact{})
	}
	title := p.title
	if title == "" {
		title = p.address
	}
	n := s.numbers.take(t, []string{p.address})[0]
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nSource %d: %s\nRead: %s", title, n, p.address, p.at.UTC().Format("2006-01-02 15:04 UTC"))
	if kept {
		b.WriteString(" (kept from then)")
	}
	for _, note := range p.notes {
		b.WriteString("\nNote: " + note)
	}
	b.WriteString("\n\n" + p.text)
	return with(agent.TextResult(b.String()), Artifact{Provider: p.provider, Notes: p.notes,
		Sources: []Source{{n, title, p.address}}, Read: p.at.UTC().Format(time.RFC3339)})
}
