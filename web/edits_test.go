package web_test

import (
	"net/http"
	"testing"
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
	if a := s.send(t, "POST", "/threads/t1/runs/wait", human(script)); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := s.send(t, "GET", "/api/threads/t1/artifacts/mnt/user-data/outputs/a.txt", ""); a.body != "1 two 3" {
		t.Errorf("the file has %q", a.body)
	}
}
