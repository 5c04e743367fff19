package api_test

import "testing"

// TestStorageOfAThread adds up, and grows with what is said.
func TestStorageOfAThread(t *testing.T) {
	type rows struct{ Count, Versions, Bytes int64 }
	type storage struct {
		Thread      string `json:"thread_id"`
		Total       int64  `json:"total_bytes"`
		Checkpoints rows
		Values      struct {
			rows
			ByChannel map[string]rows `json:"by_channel"`
		} `json:"channel_values"`
		Pending *rows `json:"pending_writes"`
	}
	w := open(t, toolAgent())
	read := func() storage {
		t.Helper()
		a := w.send(t, "GET", "/threads/t1/storage", "")
		a.must(t, "the answer", 200)
		return decode[storage](t, a.body)
	}
	w.ok(t, "POST", "/threads", `{"thread_id":"t1"}`)
	if s := read(); s.Thread != "t1" || s.Total != 0 || s.Checkpoints.Count != 0 || s.Values.ByChannel == nil ||
		s.Pending == nil {
		t.Errorf("a new thread: %+v", s)
	}
	w.send(t, "POST", "/threads/t1/runs/wait", toolBody)
	w.ok(t, "POST", "/threads/t1/state", `{"values":{"title":"weather"}}`)
	s := read()
	if got, want := s.Checkpoints.Count, int64(len(w.ids(t, "t1", `{"limit":100}`))); got != want {
		t.Errorf("%d checkpoints, history has %d", got, want)
	}
	var sum rows
	for _, c := range s.Values.ByChannel {
		sum.Count, sum.Bytes = sum.Count+c.Versions, sum.Bytes+c.Bytes
	}
	if sum.Count != s.Values.Count || sum.Bytes != s.Values.Bytes || s.Total != s.Checkpoints.Bytes+s.Values.Bytes ||
		s.Checkpoints.Bytes <= 0 {
		t.Errorf("it does not add up: %+v", s)
	}
	c := s.Values.ByChannel
	if c["messages"].Versions != 4 || c["messages"].Bytes < 300 ||
		c["title"] != (rows{Versions: 1, Bytes: int64(len(`"weather"`))}) {
		t.Errorf("channels: %+v", c)
	}
	w.send(t, "GET", "/threads/none/storage", "").want(t, "an unknown thread", 404)
}
