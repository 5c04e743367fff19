package community

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"fawn/agent"
	"fawn/sandbox/netguard"
)

// Limits of reading a page.
const (
	pageTime    = 20 * time.Second
	convertTime = 45 * time.Second
	maxPage     = 10 << 20  // bytes after decompression
	maxMarkdown = 400 << 10 // bytes of text
)

// reading is a page's content from a service: Markdown or HTML.
type reading struct {
	title, address, text string
	html                 []byte
}

// PageExt is the ending of the name under which a web page is converted: its first line is its
// address, the rest HTML in UTF-8.
const PageExt = ".webpage"

// fetch reads a page, from memory if the thread read it lately.
func (s *Service) fetch(ctx context.Context, thread string, a fetchArgs) (p page, kept bool, err error) {
	set := s.cfg.Settings()
	set.render = a.Render
	u, err := s.target(a.URL, set)
	if err != nil {
		return page{}, false, err
	}
	key := pageKey(u.String())
	if p, ok := s.pages.get(thread, key, s.cfg.Now()); ok && !a.Fresh && (!a.Render || p.provider == InBrowser) {
		return p, true, nil
	}
	p, err = s.read(ctx, u, set)
	if err != nil {
		return p, false, err
	}
	p.at = s.cfg.Now()
	p.title = line(p.title, maxTitle)
	if p.address = address(p.address); p.address == "" {
		p.address = u.String()
	}
	p.text = strings.TrimSpace(strings.ToValidUTF8(p.text, "\uFFFD"))
	if len(p.text) > maxMarkdown {
		p.text = strings.ToValidUTF8(p.text[:maxMarkdown], "") +
			"\n\n[The rest of the page is left out: it is too long]"
	}
	s.pages.put(thread, key, p)
	return p, false, nil
}

// Page reads a page outside of any conversation, bypassing the cache. at is its final address.
func (s *Service) Page(ctx context.Context, page string) (title, at, text string, err error) {
	set := s.cfg.Settings()
	u, err := s.target(page, set)
	if err != nil {
		return "", "", "", err
	}
	p, err := s.read(ctx, u, set)
	if err != nil {
		return "", "", "", err
	}
	if at = address(p.address); at == "" {
		at = u.String()
	}
	return line(p.title, maxTitle), at, strings.TrimSpace(strings.ToValidUTF8(p.text, "\uFFFD")), nil
}

// target returns the address to read. It is checked here as well as when it is dialled, since services that read for
// us don't check it.
func (s *Service) target(raw string, set Settings) (*url.URL, error) {
	refuse := func(detail string) error { return &Problem{Provider: WebFetch, Class: Forbidden, Detail: detail} }
	raw = strings.TrimSpace(raw)
	if len(raw) > 4*maxURL {
		return nil, refuse("it is too long")
	}
	if !strings.Contains(raw, "://") && !strings.HasPrefix(raw, "/") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, refuse("only http and https addresses without user names")
	}
	u.Fragment, u.RawFragment = "", ""
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		host = "[" + host + "]"
	}
	if host, err = netguard.Host(host); err != nil {
		return nil, refuse("the host isn't valid")
	}
	var refused *netguard.Refused
	if err := s.cfg.Guard(set.Private).CheckName(host); errors.As(err, &refused) {
		return nil, refuse(refused.Reason)
	}
	return u, nil
}

// read tries one reader after the other: the chosen service, the built-in fetcher, services with a key.
func (s *Service) read(ctx context.Context, u *url.URL, set Settings) (page, error) {
	own := candidate{choice: Choice{Time: set.Fetch.Time}}
	if s.cfg.World != nil {
		return s.readBy(ctx, own, u, set)
	}
	line := s.line(WebFetch, set.Fetch, set)
	at := 0
	if set.Fetch.Provider != "" {
		at = 1
	}
	switch {
	case at > 0 && !set.Fallback:
	case !set.Fallback:
		line = []candidate{own}
	default:
		line = slices.Insert(line, min(at, len(line)), own)
	}
	var notes []string
	var last error
	for _, c := range line {
		p, err := s.readBy(ctx, c, u, set)
		if err == nil {
			p.notes = append(notes, p.notes...)
			return p, nil
		}
		var why *Problem
		if !errors.As(err, &why) {
			return page{}, err // the run was stopped
		}
		if why.Class == Forbidden { // don't try other services
			return page{}, err
		}
		notes, last = append(notes, why.Error()), err
	}
	if len(notes) > 1 {
		last = fmt.Errorf("%w; before that %s", last, strings.Join(notes[:len(notes)-1], "; "))
	}
	return page{}, last
}

func (s *Service) readBy(ctx context.Context, c candidate, u *url.URL, set Settings) (page, error) {
	if c.provider == nil {
		return s.readDirect(ctx, u, c.choice, set)
	}
	way, err := s.to(c.provider, c.choice, set)
	if err != nil {
		return page{}, err
	}
	r, err := c.provider.read(ctx, way, u.String())
	if err == nil && r.text == "" && len(r.html) > 0 {
		r.title, r.text, err = s.article(ctx, u.String(), r.html)
	}
	if err == nil && strings.TrimSpace(r.text) == "" {
		err = way.problem(Empty, 0, "no content found")
	}
	return page{title: r.title, address: r.address, text: r.text, provider: c.provider.name}, err
}

// readDirect fetches a page itself.
func (s *Service) readDirect(ctx context.Context, u *url.URL, c Choice, set Settings) (page, error) {
	problem := func(class Class, status int, detail string) error {
		return &Problem{Provider: WebFetch, Class: class, Status: status, Detail: detail}
	}
	limits := netguard.ClientLimits{Body: maxPage, Time: pageTime}
	if c.Time > 0 {
		limits.Time = c.Time
	}
	if len(set.Ports) > 0 {
		limits.Ports = append([]int{80, 443, 8080, 8443}, set.Ports...)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return page{}, problem(Forbidden, 0, "")
	}
	req.Header.Set("User-Agent", agentName)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5")
	req.Header.Set("Accept-Language", "en,*;q=0.5")
	way := &call{provider: &provider{name: WebFetch}}
	client := netguard.Client(s.cfg.Guard(set.Private), limits)
	if s.cfg.World != nil {
		client = s.cfg.World.client(limits.Time)
	}
	resp, err := client.Do(req)
	if err != nil {
		return page{}, way.failed(ctx, err)
	}
	defer resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if family, _, _ := strings.Cut(kind, "/"); slices.Contains([]string{"image", "audio", "video", "font"}, family) {
		return page{}, problem(Unreadable, 0, "it is of the type "+agent.Head(kind, 60))
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return page{}, way.failed(ctx, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		if challenges(resp, body) {
			return page{}, problem(Captcha, resp.StatusCode, "")
		}
		return page{}, problem(ofPage(resp.StatusCode), resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	p := page{address: resp.Request.URL.String(), provider: Direct}
	p.title, p.text, err = s.text(ctx, resp, kind, body)
	if err == nil && s.cfg.World == nil && (set.render || needsBrowser(kind, body, p.text)) {
		p, err = s.shown(ctx, u, p, set)
	}
	if err == nil && strings.TrimSpace(p.text) == "" {
		err = problem(Empty, 0, "no content found")
		if challenges(resp, body) {
			err = problem(Captcha, 0, "")
		}
	}
	return p, err
}

// ofPage classifies the status of a page, for which keys don't matter.
func ofPage(status int) Class {
	switch c := ofStatus(status); c {
	case BadKey, Quota:
		return Rejected
	default:
		return c
	}
}

// challenges reports whether a site presents a challenge for humans.
func challenges(resp *http.Response, body []byte) bool {
	if resp.Header.Get("Cf-Mitigated") == "challenge" {
		return true
	}
	head := bytes.ToLower(body[:min(len(body), 64<<10)])
	for _, mark := range []string{"cf-chl-", "challenge-platform", "g-recaptcha", "h-captcha", "px-captcha",
		"captcha-delivery"} {
		if bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return false
}

// text converts a response to Markdown.
func (s *Service) text(ctx context.Context, resp *http.Response, kind string, body []byte) (title, text string,
	err error) {
	if kind == "" || kind == "application/octet-stream" ||
		kind == "text/plain" && bytes.HasPrefix(body, []byte("%PDF-")) {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	name := path.Base(resp.Request.URL.Path)
	if kind == "text/html" || kind == "application/xhtml+xml" {
		utf8, err := inUTF8(body, resp.Header.Get("Content-Type"))
		if err != nil {
			return "", "", err
		}
		return s.article(ctx, resp.Request.URL.String(), utf8)
	}
	if plain(kind) {
		utf8, err := inUTF8(body, resp.Header.Get("Content-Type"))
		return name, string(utf8), err
	}
	if ext := documentExt(kind); ext != "" {
		name = "document" + ext
	}
	text, err = s.convert(ctx, name, body)
	return titleOf(text), text, err
}

// plain reports whether content can be read without conversion.
func plain(kind string) bool {
	return strings.HasPrefix(kind, "text/") && kind != "text/rtf" || strings.HasSuffix(kind, "+json") ||
		strings.HasSuffix(kind, "+xml") || slices.Contains([]string{"application/json", "application/xml",
		"application/javascript", "application/yaml", "application/x-yaml", "application/toml"}, kind)
}

// documentExt returns the ending of names of a type of documents.
func documentExt(kind string) string {
	const office = "application/vnd.openxmlformats-officedocument."
	return map[string]string{
		"application/pdf": ".pdf", "application/epub+zip": ".epub", "application/rtf": ".rtf", "text/rtf": ".rtf",
		"application/msword": ".doc", "application/vnd.ms-excel": ".xls", "application/vnd.ms-powerpoint": ".ppt",
		office + "wordprocessingml.document": ".docx", office + "spreadsheetml.sheet": ".xlsx",
		office + "presentationml.presentation":    ".pptx",
		"application/vnd.oasis.opendocument.text": ".odt", "application/vnd.oasis.opendocument.spreadsheet": ".ods",
		"application/vnd.oasis.opendocument.presentation": ".odp",
	}[kind]
}

// inUTF8 decodes text by its byte order mark, its header, or its own declaration.
func inUTF8(body []byte, header string) ([]byte, error) {
	r, err := charset.NewReader(bytes.NewReader(body), header)
	if err != nil {
		return nil, &Problem{Provider: WebFetch, Class: Unreadable, Detail: "its encoding isn't known"}
	}
	out, err := io.ReadAll(io.LimitReader(r, 3*maxPage))
	if err != nil {
		return nil, &Problem{Provider: WebFetch, Class: Unreadable, Detail: "its encoding is broken"}
	}
	return out, nil
}

// article converts a page's main content to Markdown.
func (s *Service) article(ctx context.Context, address string, utf8 []byte) (title, text string, err error) {
	text, err = s.convert(ctx, "page"+PageExt, append([]byte(strings.ReplaceAll(address, "\n", "")+"\n"), utf8...))
	if head, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(head, "# ") {
		return strings.TrimPrefix(head, "# "), strings.TrimSpace(rest), err
	}
	return "", text, err
}

// titleOf returns the first heading of a text.
func titleOf(text string) string {
	for l := range strings.Lines(agent.Head(text, 4000)) {
		if t, ok := strings.CutPrefix(strings.TrimSpace(l), "# "); ok {
			return t
		}
	}
	return ""
}

// convert converts data to Markdown.
func (s *Service) convert(ctx context.Context, name string, data []byte) (string, error) {
	problem := func(class Class, detail string) error {
		return &Problem{Provider: WebFetch, Class: class, Detail: detail}
	}
	if s.cfg.Convert == nil {
		return "", problem(Unreadable, "pages and documents can't be converted here")
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, convertTime)
	defer cancel()
	text, why, err := s.cfg.Convert(ctx, name, data)
	switch {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", context.Cause(ctx)
	case ctx.Err() != nil || text == "" && why == "timeout":
		return "", problem(Timeout, "converting it took too long")
	case err != nil:
		s.cfg.Log.Warn("couldn't convert a page", "err", err)
		return "", problem(Unreadable, "the converter doesn't work")
	case text == "" && why == "empty":
		return "", nil
	case text == "":
		return "", problem(Unreadable, "the converter says "+why)
	}
	return text, nil
}
