package mcp

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestWhatIsOfferedIsWhatIsKnown, also where a server lists its tools while its owner approves others.
func TestWhatIsOfferedIsWhatIsKnown(t *testing.T) {
	p := New(Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	defer p.Close()
	s := p.newServer(Server{Name: "s", Type: Stdio, Command: "none"})
	p.mu.Lock()
	p.servers["s"] = s
	p.mu.Unlock()
	for i := range 100 {
		var work sync.WaitGroup
		work.Go(func() {
			s.accept([]listed{{Name: "a", Description: fmt.Sprint(i), Schema: json.RawMessage(`{}`)}}, s.conf)
		})
		work.Go(func() { must.Report(t, p.Approve("s")) })
		work.Wait()
		k := p.memory.get("s")
		var offered, withheld []listed
		for _, l := range k.Tools {
			if k.Approved[l.Name] == l.hash() {
				offered = append(offered, l)
			} else {
				withheld = append(withheld, l)
			}
		}
		s.mu.Lock()
		is, not := s.listed, s.withheld
		s.mu.Unlock()
		if fmt.Sprint(is) != fmt.Sprint(offered) || len(not) != len(withheld) {
			t.Fatalf("%d: offered are %v, withheld %q, known is %+v", i, is, not, k)
		}
	}
}
