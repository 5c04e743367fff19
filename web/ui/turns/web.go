package turns

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/browsing"
	"fawn/agent/community"
	"fawn/views"
	"fawn/web/ui/page"
)

// webOf returns the data of a web tool's result, nil for others.
func webOf(m *agent.Message) *views.Web {
	a := community.ReadArtifact(m.Artifact)
	if a == nil || m.Status == "error" && len(a.Notes) == 0 {
		return nil
	}
	w := &views.Web{Notes: a.Notes}
	if a.Provider != community.Direct {
		w.Service = a.Provider
	}
	for _, s := range a.Sources {
		w.Pages = append(w.Pages, views.WebPage{Number: s.Number, Title: s.Title, URL: s.URL})
	}
	for _, i := range a.Images {
		at := i.Page
		if at == "" {
			at = i.URL
		}
		w.Pages = append(w.Pages, views.WebPage{Title: i.Title, URL: at})
	}
	if at, err := time.Parse(time.RFC3339, a.Read); err == nil {
		w.Read = at.UTC().Format("2006-01-02 15:04 UTC")
	}
	return w
}

// WithText adds the information in a step's output about its pages.
func WithText(w *views.Web, output string) *views.Web {
	if w == nil {
		return nil
	}
	out := *w
	out.Pages = append([]views.WebPage(nil), w.Pages...)
	if w.Read != "" {
		// The title and the lines about the page come first; a preview of a long page begins with a notice.
		if _, body, ok := strings.Cut(output, "\n\nSource "); ok && strings.HasPrefix(output, "# ") {
			_, out.Text, _ = strings.Cut(body, "\n\n")
		} else {
			out.Text = output
		}
		return &out
	}
	var found struct {
		Results []struct{ URL, Content string }
	}
	if json.Unmarshal([]byte(output), &found) != nil {
		return &out
	}
	for i := range out.Pages {
		for _, r := range found.Results {
			if r.URL == out.Pages[i].URL {
				out.Pages[i].Text = r.Content
			}
		}
	}
	return &out
}

// number assigns the page numbers in a result.
func (b *Builder) number(t *views.Turn, w *views.Web) {
	if w == nil {
		return
	}
	known := maps.Clone(b.numbers)
	if known == nil {
		known = map[string]int{}
	}
	for _, p := range w.Pages {
		if p.Number > 0 {
			known[views.PageKey(p.URL)] = p.Number
		}
	}
	b.numbers, t.Numbers = known, known
}

// pageAddress matches a page's address in a text.
var pageAddress = regexp.MustCompile(`https?://[^\s"'<>\\()\[\]{}]+`)

// maxReport limits the part of a helper's report searched for addresses, in bytes.
const maxReport = 64 << 10

// visit records the pages opened by a finished call: the requested and the final address. A search only names pages.
// Pages reported by a helper were opened by it.
func (b *Builder) visit(t *views.Turn, s views.Step, output string) {
	if s.State != views.StepDone || s.Tool == community.WebSearch || s.Tool == community.ImageSearch {
		return
	}
	var found []string
	texts(s.Args, func(text string) { found = append(found, pageAddress.FindAllString(text, -1)...) })
	if s.Tool == "task" {
		found = append(found, pageAddress.FindAllString(page.Head(output, maxReport), -1)...)
	}
	if s.Web != nil && s.Web.Read != "" {
		for _, p := range s.Web.Pages {
			found = append(found, p.URL)
		}
	}
	if len(found) == 0 {
		return
	}
	known := maps.Clone(b.opened)
	if known == nil {
		known = map[string]bool{}
	}
	for _, address := range found {
		known[views.PageKey(strings.TrimRight(address, ".,;:!?"))] = true
	}
	b.opened, t.Opened = known, known
}

// texts returns all texts in the arguments of a call.
func texts(raw json.RawMessage, take func(string)) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			take(v)
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for _, one := range v {
				walk(one)
			}
		}
	}
	walk(v)
}

// browsedOf returns the view of a browser tool's result, nil for other tools.
func browsedOf(m *agent.Message) *views.Browsed {
	a := browsing.ReadArtifact(m.Artifact)
	if a == nil {
		return nil
	}
	b := &views.Browsed{Address: a.Address, Title: a.Title, Target: a.Target, Saved: a.Saved}
	if at, ok := strings.CutPrefix(a.Picture, browsing.Pictures+"/"); ok && !strings.Contains(at, "/") {
		b.Picture = a.Picture
	}
	return b
}
