package mcp

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestResultsAreCleanedBeforeTheyAreEncoded: a secret is hidden however JSON writes it, what takes its place breaks nothing,
// and numbers stay exact.
func TestResultsAreCleanedBeforeTheyAreEncoded(t *testing.T) {
	clean := strings.NewReplacer("pass\"word", `"hidden"`, "k\u00fcche", "kitchen", `C:\host`, "/mnt").Replace
	raw := `{"n":12345678901234567890,"k\u00fcche":["pass\"word",{"at":"C:\\host\\x","f":1.50}],"s":"a \u0070ass\"word"}`
	got, err := cleaned([]byte(raw), clean)
	const want = `{"kitchen":["\"hidden\"",{"at":"/mnt\\x","f":1.50}],"n":12345678901234567890,"s":"a \"hidden\""}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	r := &sdk.CallToolResult{StructuredContent: map[string]any{"token": "pass\"word"}}
	if got := string(handed(r, clean)); strings.Contains(got, "word") || !strings.Contains(got, `\"hidden\"`) {
		t.Errorf("an app is handed %s", got)
	}
}

// TestAppsReachNothingNearTheReader: neither the reader's machine, nor its link, nor this server, by any name of theirs.
func TestAppsReachNothingNearTheReader(t *testing.T) {
	list := []any{"https://api.example.com", "wss://live.example.com:8443/", "https://*.cdn.example.com", "https://10.0.0.5",
		"http://localhost:3000", "http://127.0.0.1", "ws://localhost", "https://127.0.0.1:8443", "https://127.1", "https://0x7f.0.0.1",
		"https://0.0.0.0", "https://169.254.169.254", "https://app.localhost", "https://*.localhost", "https://printer.local",
		"https://*.0.0.1", "https://fawn.example.org", "https://FAWN.example.org:444", "https://*.example.org", "https://192.168.7.7"}
	var p AppPage
	p.allow(sdk.Meta{"ui": map[string]any{"csp": map[string]any{"connectDomains": list, "resourceDomains": list[:1],
		"frameDomains": list[4:5], "baseUriDomains": list[16:17]}}})
	p.Without("fawn.example.org", "192.168.7.7", "::1")
	if got := strings.Join(p.Connect, " "); got != "https://api.example.com wss://live.example.com:8443 https://*.cdn.example.com https://10.0.0.5" {
		t.Errorf("reached is %s", got)
	}
	if len(p.Load) != 1 || len(p.Frame) != 0 || len(p.Base) != 0 {
		t.Errorf("%+v", p)
	}
}
