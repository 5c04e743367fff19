package mcp_test

import (
	"strings"
	"testing"

	"fawn/agent/mcp"
)

func TestCommandsOfServersThatAreAdded(t *testing.T) {
	for _, c := range []struct {
		command string // with its arguments, then variables behind a |
		want    string
	}{
		{"npx -y @modelcontextprotocol/server-memory -c x --call y | API_KEY HTTPS_PROXY", ""},
		{"npx --package=a -p b server | TOKEN", ""},
		{"uvx --from mcp-server-time --python 3.12 mcp-server-time", ""},
		{"ours --port 1", ""},
		{"node server.js", "not allowed"},
		{"/usr/bin/npx x", "not allowed"},
		{"sh -c id", "not allowed"},
		{"npx -c id", "option -c"},
		{"npx -y --call=id x", "option --call"},
		{"npx -p a -c id", "option -c"},
		{"npx --node-options=--require=/x y", "option --node-options"},
		{"npx --script-shell /bin/x y", "option --script-shell"},
		{"npx -p /tmp/a x", "file or an address"},
		{"uvx --from git+https://x.example/y z", "file or an address"},
		{"uvx --python /tmp/python z", "file or an address"},
		{"uvx --with-editable . z", "option --with-editable"},
		{"ours -e x", "option -e"},
		{"npx x | LD_PRELOAD", "LD_PRELOAD"},
		{"npx x | node_options", "node_options"},
		{"npx x | PYTHONPATH", "PYTHONPATH"},
		{"npx x | npm_config_registry", "npm_config_registry"},
		{"uvx x | UV_INDEX_URL", "UV_INDEX_URL"},
		{"npx x | PATH", "PATH"},
	} {
		words, env, _ := strings.Cut(c.command, "|")
		args := strings.Fields(words)
		err := mcp.CheckCommand(args[0], args[1:], strings.Fields(env), []string{"ours"})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.command, err)
		}
	}
}
