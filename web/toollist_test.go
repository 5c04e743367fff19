package web_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fawn/web/webtest"
)

// TestSettingsListEveryToolThatModelsAreOffered compares the page with the request of a run that
// asks for everything, and says in words what each of them is for.
func TestSettingsListEveryToolThatModelsAreOffered(t *testing.T) {
	t.Parallel()
	a := startAgents(t)
	a.configure(t, fmt.Sprintf("title: {enabled: false}\nskill_evolution: {enabled: true}\nmodels: [{name: one, use: openai, model: one, base_url: %q, "+
		"api_key: test, supports_vision: true}]\n", a.script.URL+"/v1"))
	all, _ := a.say(t, "t1", "hi", `"context":{"subagent_enabled":true,"is_plan_mode":true}`)
	offered := all[0].tools()
	if !slices.Contains(offered, "view_image") || !slices.Contains(offered, "task") ||
		!slices.Contains(offered, "write_todos") {
		t.Fatalf("the run has no image, helper or plan tool: %v", offered)
	}
	for _, lang := range []string{"en", "zh-CN"} {
		page := a.send(t, "GET", "/workspace/settings/tools", "", "Cookie", "fawn_prefs=lang="+lang, "Accept",
			"text/html").body
		webtest.Holds(t, "the page is not in "+lang, page, `<html lang="`+lang+`"`)
		list := page[strings.LastIndex(page, `<ul class="rows">`):]
		list, _, _ = strings.Cut(list, "</ul>")
		var shown []string
		for _, m := range regexp.MustCompile(`<span class="nm">([^<]*)</span>\s*<span class="meta">([^<]*)<code>([a-z_]+)</code>`).
			FindAllStringSubmatch(list, -1) {
			shown = append(shown, m[3])
			if strings.TrimSpace(m[2]) == "" || m[1] == m[3] {
				t.Errorf("%s: %s has no words", lang, m[3])
			}
		}
		slices.Sort(shown)
		if slices.Contains(offered, "bash") && !slices.Equal(shown, offered) {
			t.Errorf("%s: the page has %v, the model %v", lang, shown, offered)
		}
	}

	a.configure(t, "web: {enabled: false}\nsubagents: {enabled: false}\n")
	page := a.send(t, "GET", "/workspace/settings/tools", "", "Accept", "text/html").body
	for key, n := range map[string]int{"web.enabled": 4, "subagents.enabled": 1} /* the services say it, too */ {
		webtest.Same(t, fmt.Sprintf("%s is the reason of tools", key), strings.Count(page, "Switched off: "+key+" in config.yaml"), n)
	}
}
