package community

import (
	"slices"
	"sync"
	"time"
)

// Limits of the pages that are kept.
const (
	keepPages = time.Hour
	maxKept   = 32 << 20 // bytes of text of all threads
)

// page is a fetched page.
type page struct {
	title, address string // after redirects
	text           string // Markdown
	at             time.Time
	provider       string
	notes          []string
}

type kept struct {
	thread, key string
	page        page
}

// pages caches recently fetched pages of threads.
type pages struct {
	mu   sync.Mutex
	list []kept // oldest first
	size int
}

func (p *pages) get(thread, key string, now time.Time) (page, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(func(k kept) bool { return now.Sub(k.page.at) >= keepPages })
	i := slices.IndexFunc(p.list, func(k kept) bool { return k.thread == thread && k.key == key })
	if i < 0 {
		return page{}, false
	}
	return p.list[i].page, true
}

func (p *pages) put(thread, key string, one page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(func(k kept) bool { return k.thread == thread && k.key == key })
	p.list = append(p.list, kept{thread, key, one})
	p.size += len(one.text)
	for p.size > maxKept && len(p.list) > 0 {
		p.size -= len(p.list[0].page.text)
		p.list = slices.Delete(p.list, 0, 1)
	}
}

func (p *pages) forget(thread string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(func(k kept) bool { return k.thread == thread })
}

// drop removes pages; the caller holds mu.
func (p *pages) drop(gone func(kept) bool) {
	p.list = slices.DeleteFunc(p.list, func(k kept) bool {
		if !gone(k) {
			return false
		}
		p.size -= len(k.page.text)
		return true
	})
}
