package chat

import (
	"context"
	"time"

	"fawn/views"
	"fawn/views/i18n"
)

// retryReason says why the provider is asked again.
func retryReason(ctx context.Context, r views.Retry) string {
	switch r.Reason {
	case "burst":
		return i18n.C(ctx, "retry.burst")
	case "busy":
		return i18n.C(ctx, "retry.busy")
	}
	return i18n.C(ctx, "retry.network")
}

// retryWait says when it is, as the script does each second.
func retryWait(ctx context.Context, r views.Retry) string {
	left := time.Until(r.Until)
	if left <= 0 {
		return i18n.C(ctx, "retry.now")
	}
	return i18n.C(ctx, "retry.in", int((left+time.Second-1)/time.Second))
}

// stepsText says how many steps there are and how many of them failed.
func stepsText(ctx context.Context, count int, steps []views.Step) string {
	text, failed := i18n.N(ctx, "turn.steps", count), 0
	for _, s := range steps {
		if stateOf(s) == views.StepFail {
			failed++
		}
	}
	if failed > 0 {
		text += i18n.N(ctx, "turn.failed", failed)
	}
	return text
}

// countSteps counts what was done; a wait is none of it.
func countSteps(steps []views.Step) int {
	n := len(steps)
	if n > 0 && steps[n-1].Kind == views.StepRetry {
		n--
	}
	return n
}
