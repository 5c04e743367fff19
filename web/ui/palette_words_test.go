package ui_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestThePaletteFindsCommandsByTheWordsPeopleUse asks for each command by another word than its
// label has, in both languages.
func TestThePaletteFindsCommandsByTheWordsPeopleUse(t *testing.T) {
	w := open(t, says("One."))
	first := regexp.MustCompile(`<span class="grow">([^<]*)</span>`)
	for query, want := range map[string]string{
		"retry": "Regenerate", "clipboard": "Copy the answer", "abort": "Stop the run", "trash": "Delete",
		"favourite": "Pin to the top", "title name": "Rename", "public": "Share", "download json": "Export as JSON",
		"tokens": "Usage", "dark mode": "Theme: dark", "night dark": "Theme: dark",
		"locale": "Switch to Chinese (简体中文)", "cron": "Scheduled tasks", "llm switch": "Model",
		"hotkeys": "Keyboard shortcuts", "font": "Settings: Appearance", "ollama": "Settings: Models",
		"mcp": "Settings: Tools", "isolation": "Settings: Sandbox", "alerts": "Settings: Notifications",
		"backup folder": "Settings: Accounts", "licence": "Settings: About",
	} {
		list := w.get("/ui/palette?chat=1&q="+url.QueryEscape(query), "X-Fawn", "1").body
		if m := first.FindStringSubmatch(list); m == nil || m[1] != want {
			t.Errorf("%q finds %q first, want %q", query, m, want)
		}
	}
	for query, want := range map[string]string{"夜间": "主题：浅色", "重试": "重新生成", "删掉": "删除", "密钥": "设置: 模型",
		"english": "切换到 English（英文）"} {
		list := w.get("/ui/palette?chat=1&q="+url.QueryEscape(query), "X-Fawn", "1", "Accept-Language", "zh-CN").body
		if m := first.FindStringSubmatch(list); m == nil || m[1] != want {
			t.Errorf("%q finds %q first, want %q", query, m, want)
		}
	}
	if list := w.get("/ui/palette?q=retry", "X-Fawn", "1").body; strings.Contains(list, "Regenerate") {
		t.Error("a command of a chat is offered where there is none")
	}
	if list := w.get("/ui/palette?chat=1&q=", "X-Fawn", "1").body; strings.Contains(list, "Theme") {
		t.Error("without a query the list is long")
	}
}
