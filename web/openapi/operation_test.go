package openapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	o "fawn/web/openapi"
	"fawn/web/webtest"
)

// TestOperationsSayWhoMayAskAndHow reads what the document has beside paths and bodies.
func TestOperationsSayWhoMayAskAndHow(t *testing.T) {
	op := o.Op{ID: "a", Method: "POST", Path: "/a", Tag: "T", Text: "x", Body: o.Map(nil), Keyed: true, Example: `{"n": 1}`,
		Refusal: o.Ref("Other"), Header: []o.Param{{Name: "X-Name", Schema: o.String()}}}
	public := o.Op{ID: "b", Method: "GET", Path: "/b", Tag: "T", Text: "x", Public: true}
	b, err := o.Spec{Ops: []o.Op{op, public}}.JSON()
	must.Do(t, err)
	doc := webtest.Decode[struct {
		Paths map[string]map[string]struct {
			Security   *[]any
			Parameters []struct{ Name, In string }
			Body       struct {
				Content map[string]struct{ Example json.RawMessage }
			} `json:"requestBody"`
			Responses map[string]json.RawMessage
		}
	}](t, string(b))
	got, open := doc.Paths["/a"]["post"], doc.Paths["/b"]["get"]
	if got.Security != nil || open.Security == nil || len(*open.Security) != 0 {
		t.Errorf("security: %v, %v", got.Security, open.Security)
	}
	if len(got.Parameters) != 2 || got.Parameters[1].Name != "Idempotency-Key" || got.Parameters[1].In != "header" {
		t.Errorf("parameters: %+v", got.Parameters)
	}
	if e := got.Body.Content["application/json"].Example; string(e) != `{"n":1}` {
		t.Errorf("example: %s", e)
	}
	for _, status := range []string{"401", "410", "415", "429"} {
		if !strings.Contains(string(got.Responses[status]), "/Other") || open.Responses[status] != nil {
			t.Errorf("%s: %s, %s", status, got.Responses[status], open.Responses[status])
		}
	}
	for _, status := range op.Statuses() {
		if status >= 400 && o.Reason(status) == "" {
			t.Errorf("%d has no words", status)
		}
	}
	if !slices.IsSorted(op.Statuses()) {
		t.Errorf("%v", op.Statuses())
	}
	op.Example = `{`
	if _, err := (o.Spec{Ops: []o.Op{op}}).JSON(); err == nil {
		t.Error("a broken example is taken")
	}
}
