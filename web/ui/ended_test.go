package ui_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest"
)

// TestAPageNeverShowsHalfAnEnd: a run that ends while a page about it is made is over on the
// whole page. Where it is not, nothing would ever say so.
func TestAPageNeverShowsHalfAnEnd(t *testing.T) {
	const chats, readers = 60, 6
	replies := make([]agenttest.Reply, chats)
	for i := range replies {
		replies[i] = agenttest.Say("I run at the provider.")
	}
	w := open(t, &agenttest.Script{Replies: replies})
	for i := range chats {
		thread := fmt.Sprintf("chat-%d", i)
		w.begin(thread, "Where are you?")
		var wg sync.WaitGroup
		for range readers {
			wg.Go(func() {
				for over := false; !over; {
					a := w.get("/workspace/chats/" + thread)
					over = !strings.Contains(a.body, "data-running")
					if busy := strings.Contains(a.body, `aria-busy="true"`); busy == over {
						t.Errorf("chat %d: a turn at work is %t, a run in progress %t", i, busy, !over)
					}
				}
			})
		}
		wg.Wait()
	}
}
