package community

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// thinText is how many characters a page may have that its scripts may not have written yet.
const thinText = 250

// needsBrowser reports whether a page looks as if scripts write what it has to say.
func needsBrowser(kind string, body []byte, text string) bool {
	if kind != "text/html" && kind != "application/xhtml+xml" {
		return false
	}
	thin := utf8.RuneCountInString(strings.TrimSpace(text)) < thinText
	return thin && bytes.Contains(bytes.ToLower(body), []byte("<script"))
}

// shown reads a page again as a browser shows it. Where that brings nothing more, what was read
// before stays, with a note if a browser was asked for or nothing else is there.
func (s *Service) shown(ctx context.Context, u *url.URL, plain page, set Settings) (page, error) {
	wanted := set.render || strings.TrimSpace(plain.text) == ""
	keep := func(why string) (page, error) {
		if wanted {
			plain.notes = append(plain.notes, why)
		}
		if strings.TrimSpace(plain.text) == "" {
			return plain, &Problem{Provider: WebFetch, Class: Empty,
				Detail: "no content found without a browser, and " + why}
		}
		return plain, nil
	}
	if s.cfg.Render == nil {
		return keep("there is no browser")
	}
	r, err := s.cfg.Render(ctx, u.String(), set.Private, set.Ports)
	switch {
	case ctx.Err() != nil:
		return plain, context.Cause(ctx)
	case err != nil:
		s.cfg.Log.Warn("couldn't render a page in the browser", "err", err)
		return keep("the browser doesn't work")
	case r.None:
		return keep("no browser is installed or set (web.browser)")
	case r.Why != "":
		return keep(r.Why)
	case r.Status >= http.StatusBadRequest:
		return keep("the browser is refused by the site")
	}
	p := page{address: r.Address, provider: InBrowser, notes: plain.notes}
	if p.title, p.text, err = s.article(ctx, r.Address, []byte(r.HTML)); err != nil {
		return plain, err
	}
	if len(strings.TrimSpace(p.text)) <= len(strings.TrimSpace(plain.text)) && !set.render {
		return keep("the browser shows no more")
	}
	return p, nil
}
