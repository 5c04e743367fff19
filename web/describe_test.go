package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestTheAPIDescribesItself(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	a := s.send(t, "GET", "/openapi.json", "")
	doc := decoded[struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		} `json:"paths"`
	}](t, a)
	ids := map[string]bool{}
	for path, ops := range doc.Paths {
		for method, op := range ops {
			if op.ID == "" || ids[op.ID] {
				t.Errorf("%s %s: the operation id %q is missing or taken", method, path, op.ID)
			}
			ids[op.ID] = true
		}
	}
	page := s.send(t, "GET", "/docs", "", "Accept", "text/html")
	if a.status != 200 || page.status != 200 || !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
		t.Fatalf("document %d, page %d %s", a.status, page.status, page.header.Get("Content-Type"))
	}
	for id := range ids {
		page.holds(t, "the page does not show "+id, `<details id="`+id+`">`)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="(https?:)?//[^"]*"`).FindAllString(page.body, -1) {
		t.Errorf("the page loads %s", m)
	}
}

func TestTheOwnerCanTurnTheDescriptionOff(t *testing.T) {
	t.Setenv("GATEWAY_ENABLE_DOCS", "false")
	s := start(t, "")
	for _, path := range []string{"/openapi.json", "/docs", "/redoc"} {
		s.send(t, "GET", path, "").want(t, path, http.StatusNotFound)
	}
}
