package chat

import (
	"context"
	"time"

	"fawn/views"
	"fawn/views/i18n"
)

// retryReason explains why the provider is asked again.
func retryReason(ctx context.Context, r views.Retry) string {
	switch r.Reason {
	case "burst":
		return i18n.C(ctx, "retry.burst")
	case "busy":
		return i18n.C(ctx, "retry.busy")
	}
	return i18n.C(ctx, "retry.network")
}

// retryWait reports when it is, as the script does each second.
func retryWait(ctx context.Context, r views.Retry) string {
	left := time.Until(r.Until)
	if left <= 0 {
		return i18n.C(ctx, "retry.now")
	}
	return i18n.C(ctx, "retry.in", int((left+time.Second-1)/time.Second))
}

// stepsText returns the number of steps and of failed ones.
func stepsText(ctx context.Context, count int, steps []views.Step) string {
	text := i18n.N(ctx, "turn.steps", count)
	if failed := FailedSteps(steps); failed > 0 {
		text += i18n.N(ctx, "turn.failed", failed)
	}
	return text
}

// FailedSteps counts the steps that failed.
func FailedSteps(steps []views.Step) (n int) {
	for _, s := range steps {
		if stateOf(s) == views.StepFail {
			n++
		}
	}
	return n
}

// countSteps counts steps, except waits.
func countSteps(steps []views.Step) int {
	n := len(steps)
	if n > 0 && steps[n-1].Kind == views.StepRetry {
		n--
	}
	return n
}
