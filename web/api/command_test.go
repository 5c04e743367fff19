package api_test

import (
	"net/http"
	"testing"
)

func TestGoldenBreakpoint(t *testing.T) {
	g := newGolden(t, open(t, toolAgent()))
	g.send("POST", "/threads/t1/runs/stream",
		`{"input":{"messages":[{"type":"human","content":"weather please","id":"h1"}]},"interrupt_before":["tools"],"stream_mode":["values","updates"]}`)
	g.send("GET", "/threads/t1", "")
	g.send("GET", "/threads/t1/state", "")
	g.send("POST", "/threads/t1/runs/wait", `{"input":null,"interrupt_after":"*"}`)
	g.send("POST", "/threads/t1/runs/stream", `{"input":null,"stream_mode":["values","updates"]}`)
	g.send("GET", "/threads/t1/runs", "")
	g.send("POST", "/threads/t1/runs/stream",
		`{"command":{"goto":"__end__","update":{"title":"cmd"}},"stream_mode":["values"]}`)
	g.compare("breakpoint")
}

func TestCommandsAreRefusedNamingTheirPart(t *testing.T) {
	w := open(t, sayAgent("hi"))
	for _, c := range []struct{ name, command, where string }{
		{"no object", `7`, `"command"`},
		{"a node with its own input", `{"goto":{"node":"model","input":{}}}`, `"command.goto"`},
		{"an unknown node", `{"goto":"titler"}`, `"command.goto"`},
		{"an update that is none", `{"update":7}`, `"command.update"`},
		{"a broken message", `{"update":{"messages":[{"content":"x"}]}}`, `"command.update"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.send(t, "POST", "/threads/t1/runs", `{"command":`+c.command+`}`).want(t, "the answer", http.StatusUnprocessableEntity, c.where)
		})
	}
	w.send(t, "POST", "/api/threads/t1/runs", `{"command":{"update":{"nothing":1}}}`).want(t, "an unknown field", http.StatusUnprocessableEntity)
	w.send(t, "GET", "/threads/t1", "").want(t, "a refused run made its thread", http.StatusNotFound)
}
