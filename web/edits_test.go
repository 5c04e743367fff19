package web_test

import (
	"net/http"
	"testing"

	"fawn/web/webtest"
)

// TestTwoEditsInOneAnswerBothCount: the second one was written before its model could look again.
func TestTwoEditsInOneAnswerBothCount(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t)+"sandbox: {provider: off}\n")
	const script = `SCRIPT{"turns":[
		{"tool_calls":[{"name":"write_file","args":{"description":"x","path":"/mnt/user-data/outputs/a.txt","content":"one two three"}}]},
		{"tool_calls":[{"name":"read_file","args":{"description":"x","path":"/mnt/user-data/outputs/a.txt"}}]},
		{"tool_calls":[{"name":"str_replace","args":{"description":"x","path":"/mnt/user-data/outputs/a.txt","old_str":"one","new_str":"1"}},
			{"name":"str_replace","args":{"description":"x","path":"/mnt/user-data/outputs/a.txt","old_str":"three","new_str":"3"}}]},
		{"text":"done"}]}`
	s.send(t, "POST", "/threads/t1/runs/wait", human(script)).must(t, "/threads/t1/runs/wait", http.StatusOK)
	webtest.Same(t, "the file has", s.send(t, "GET", "/api/threads/t1/artifacts/mnt/user-data/outputs/a.txt", "").body, "1 two 3")
}
