package lead

import (
	"testing"
	"testing/synctest"
	"time"

	"fawn/agent/config"
)

// TestARefusedWindowIsForgotten: after an hour, or once the owner writes another one, larger requests are tried again.
func TestARefusedWindowIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Builder{}
		m := config.Model{Name: "m", ContextWindow: 100_000}
		b.windows.refuse(m, 8_000)
		if got := b.window(t.Context(), m); got != 8_000 {
			t.Errorf("after a refusal: %d", got)
		}
		larger := m
		larger.ContextWindow = 200_000
		if got := b.window(t.Context(), larger); got != 200_000 {
			t.Errorf("with another window: %d", got)
		}
		b.windows.refuse(m, 8_000)
		time.Sleep(refusedFor + time.Minute)
		if got := b.window(t.Context(), m); got != 100_000 {
			t.Errorf("after an hour: %d", got)
		}
		unknown := config.Model{Name: "u"}
		b.windows.refuse(unknown, 8_000)
		time.Sleep(refusedFor + time.Minute)
		if got := b.window(t.Context(), unknown); got != 0 {
			t.Errorf("of a model without a window: %d", got)
		}
	})
}
