package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fawn/web/e2e/scriptmodel"
)

// TestModelOfARunIsTheFirstThatSomebodyChose walks the levels of choice: context, configurable, header,
// agent, default. An unknown name gives way to the next level with a warning; natively the request's own
// are refused.
func TestModelOfARunIsTheFirstThatSomebodyChose(t *testing.T) {
	t.Parallel()
	script := scriptmodel.Start(t)
	conf := "title: {model_name: offline}\nmemory: {model_name: offline}\ndefault_model: e\nmodels:\n"
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		conf += fmt.Sprintf("  - {name: %s, use: openai, model: script-%s, base_url: %q, api_key: test}\n", name, name,
			script.URL+"/v1")
	}
	s := start(t, conf)
	agents := map[string]string{"": "lead_agent"}
	for _, model := range []string{"d", "gone"} {
		var made struct {
			ID string `json:"assistant_id"`
		}
		a := s.send(t, "POST", "/assistants",
			fmt.Sprintf(`{"graph_id":"lead_agent","name":%q,"config":{"configurable":{"model_name":%q}}}`,
				model, model))
		if err := json.Unmarshal([]byte(a.body), &made); err != nil || made.ID == "" {
			t.Fatalf("%d %s", a.status, a.body)
		}
		agents[model] = made.ID
	}
	for i, c := range []struct {
		context, configurable, header, agent string
		want, warns                          string
	}{
		{"a", "b", "c", "d", "a", ""},
		{"", "b", "c", "d", "b", ""},
		{"", "", "c", "d", "c", ""},
		{"", "", "", "d", "d", ""},
		{"", "", "", "", "e", ""},
		{"gone", "b", "c", "d", "b", "gone"},
		{"gone", "gone", "c", "d", "c", "gone"},
		{"gone", "", "gone", "d", "d", "gone"},
		{"", "", "gone", "", "e", "gone"},
		{"", "", "", "gone", "e", "gone"},
		{"", "", "c", "gone", "c", ""},
		{"offline", "b", "c", "d", "", ""}, // the built-in model can be asked for by name
	} {
		option := func(name string) string {
			if name == "" {
				return "{}"
			}
			return fmt.Sprintf(`{"model_name":%q}`, name)
		}
		body := fmt.Sprintf(`{"assistant_id":%q,"input":{"messages":"hi"},"context":%s,"config":{"configurable":%s}}`,
			agents[c.agent], option(c.context), option(c.configurable))
		var headers []string
		if c.header != "" {
			headers = []string{"X-Model", c.header}
		}
		script.Forget()
		thread := fmt.Sprintf("/threads/t%d/runs", i)
		s.send(t, "POST", thread+"/wait", body, headers...).must(t, fmt.Sprintf("%+v", c), 200)
		var asked struct{ Model string }
		sent := script.Requests()
		if c.want == "" && len(sent) > 0 ||
			c.want != "" && (len(sent) != 1 || json.Unmarshal(sent[0].Body, &asked) != nil ||
				asked.Model != "script-"+c.want) {
			t.Errorf("%+v: %d calls, of %s", c, len(sent), asked.Model)
		}
		var rows []struct {
			Metadata map[string]any `json:"metadata"`
		}
		if err := json.Unmarshal([]byte(s.send(t, "GET", thread, "").body), &rows); err != nil || len(rows) != 1 {
			t.Fatal(err)
		}
		warning, _ := rows[0].Metadata["model_warning"].(string)
		if (warning != "") != (c.warns != "") || !strings.Contains(warning, c.warns) {
			t.Errorf("%+v: warned %q", c, warning)
		}
		native := s.send(t, "POST", "/api/threads/n"+thread[9:]+"/wait", body, headers...)
		own := c.warns != "" && c.agent != "gone"
		if own != (native.status == 400) || own && !strings.Contains(native.body, "Model 'gone' is not") {
			t.Errorf("%+v natively: %d %s", c, native.status, native.body)
		}
	}
}
