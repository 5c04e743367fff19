package views

import (
	"hash/fnv"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Web holds web search results, or a read page.
type Web struct {
	Pages   []WebPage
	Service string   // service that answered; empty is Fawn itself
	Notes   []string // why other services weren't used
	Read    string   // time of reading the page, formatted for people
	Text    string   // Markdown of the page, or the beginning of it
}

// WebPage is one page, or a picture on one.
type WebPage struct {
	Number int    // number in the thread; 0 for none
	Title  string // may be empty
	URL    string // http or https
	Text   string // the extract of a search
}

// PageKey normalizes addresses of the same page.
func PageKey(address string) string {
	address, _, _ = strings.Cut(address, "#")
	return strings.TrimSuffix(address, "/")
}

// Letter returns the first letter of a site's name as its symbol.
func Letter(host string) string {
	host = strings.TrimPrefix(host, "www.")
	r, _ := utf8.DecodeRuneInString(host)
	if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
		return "?"
	}
	return string(unicode.ToUpper(r))
}

// siteColours is the number of color classes.
const siteColours = 6

// SiteClass returns the class of a site's sign, always the same one for a site.
func SiteClass(host string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.TrimPrefix(host, "www."))) // it never fails
	return "site k" + string(rune('0'+h.Sum32()%siteColours))
}

// Browsed is the page that the agent's browser showed after a step.
type Browsed struct {
	Address, Title string
	Target         string   // the name of the element that was used
	Picture        string   // path of a small picture; "" for none
	Saved          []string // paths of files saved by the step
}

// Names returns the names of the files, joined.
func (b *Browsed) Names() string {
	names := make([]string, len(b.Saved))
	for i, at := range b.Saved {
		names[i] = path.Base(at)
	}
	return strings.Join(names, ", ")
}

// BrowserPanel is the panel in which a person watches the agent's browser and takes it over.
type BrowserPanel struct {
	ThreadID string
	Open     bool // a browser is open
	Address  string
	Held     bool // the person has it
}

// BrowserURL returns the address of the panel with the browser of a chat, or of an action on it.
func BrowserURL(id, action string) string {
	if action == "" {
		return ActionURL(id, "browser")
	}
	return ActionURL(id, "browser/"+action)
}
