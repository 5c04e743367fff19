package runs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestStartsWaitInTheirOrder: a place goes to the one that has waited longest, when it is given back, or when its holder
// has had it for too long.
func TestStartsWaitInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := make(startLine, 2)
		first, second := line.enter(t.Context()), line.enter(t.Context())
		began, entered := time.Now(), make(chan int, 3)
		for i := range 3 {
			go func() {
				line.enter(t.Context())
				entered <- i
			}()
			synctest.Wait() // until it stands in line
		}
		if len(entered) != 0 {
			t.Fatal("more starts than places")
		}
		time.Sleep(time.Millisecond) // so that the place of the next one is held for longer than the other
		first()
		first() // again changes nothing
		synctest.Wait()
		if len(entered) != 1 || <-entered != 0 {
			t.Fatal("the place that was given back is not the next one's")
		}
		if got := <-entered; got != 1 || time.Since(began) != startTime {
			t.Errorf("start %d came after %v, want 1 after %v", got, time.Since(began), startTime)
		}
		second() // its place is another one's now
		<-entered
		ctx, leave := context.WithCancel(t.Context())
		leave()
		full := make(startLine)
		full.enter(ctx)() // doesn't wait for a place, and has none to give back
		time.Sleep(2 * startTime)
		if len(line) != 0 {
			t.Errorf("%d places are taken after all starts", len(line))
		}
	})
}
