package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

const (
	maxWebhookURL = 2048
	// webhooksAtOnce limits concurrent notifications, and with it the memory of their bodies.
	webhooksAtOnce = 4
	webhookTime    = 15 * time.Second
	webhookLook    = 5 * time.Second
)

// webhookWaits returns the times between attempts. After the last one a webhook is given up.
func webhookWaits() []time.Duration {
	return []time.Duration{2 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute}
}

// ErrWebhookRefused marks an address that may never be called, so that retrying is pointless.
var ErrWebhookRefused = errors.New("the webhook cannot be called")

// checkWebhook rejects addresses that aren't HTTP URLs.
func checkWebhook(raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	if err != nil || len(raw) > maxWebhookURL || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil {
		return httpx.Invalid("body", "webhook",
			"want an http or https address of at most %d characters, without a user name, got %q", maxWebhookURL,
			route.Cut(raw, 80))
	}
	return nil
}

// TellWebhooks notifies the webhooks of ended runs until ctx ends, including those left from before. Failures are
// retried a few times, also after a restart.
func (a *API) TellWebhooks(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.Runs.Webhooks():
		case <-timer.C:
		}
		wait, err := a.tellDue(ctx)
		if err != nil && ctx.Err() == nil {
			a.Log.Warn("couldn't deliver webhooks", "err", err)
			wait = time.Minute
		}
		if a.DB.Clustered() { // there may be new ones of other servers
			wait = min(wait, webhookLook)
		}
		timer.Reset(wait)
	}
}

// tellDue notifies every due webhook, and returns the next due time.
func (a *API) tellDue(ctx context.Context) (time.Duration, error) {
	list, err := a.DB.KVs(ctx, store.Global, runs.WebhookSpace, "")
	if err != nil {
		return 0, err
	}
	wait := time.Hour
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, webhooksAtOnce)
	for _, kv := range list {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			next := a.tellOne(ctx, kv)
			if next.IsZero() {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			wait = min(wait, max(next.Sub(a.DB.Now()), time.Millisecond))
		})
	}
	wg.Wait()
	return wait, nil
}

// tellOne notifies one webhook if it is due. It returns the time of the next attempt, or zero when done.
func (a *API) tellOne(ctx context.Context, kv store.KV) time.Time {
	var w runs.Webhook
	if err := json.Unmarshal(kv.Body, &w); err != nil {
		a.Log.Error("dropped an unreadable webhook", "run", kv.Key, "err", err)
		return a.keepWebhook(ctx, kv.Key, nil)
	}
	if w.Next.Sub(a.DB.Now()) > 0 {
		return w.Next
	}
	body, err := w.Payload, error(nil)
	if body == nil {
		body, err = a.webhookBody(ctx, kv.Key)
	}
	switch {
	case errors.Is(err, store.ErrNotFound): // deleted meanwhile, perhaps with a last webhook
		return a.orphaned(ctx, kv.Key)
	case err == nil:
		err = a.call(ctx, w.URL, kv.Key, body)
	}
	switch {
	case err == nil:
		return a.keepWebhook(ctx, kv.Key, nil)
	case ctx.Err() != nil: // the next server tries again
		return a.DB.Now()
	case errors.Is(err, ErrWebhookRefused) || w.Attempts >= len(a.waits):
		a.Log.Warn("gave up on a webhook", "run", kv.Key, "attempts", w.Attempts+1, "err", err)
		return a.keepWebhook(ctx, kv.Key, nil)
	}
	w.Next = a.DB.Now().Add(a.waits[w.Attempts])
	w.Attempts++
	a.Log.Info("webhook failed; retrying", "run", kv.Key, "attempt", w.Attempts, "err", err)
	return a.keepWebhook(ctx, kv.Key, &w)
}

// keepWebhook stores a webhook's remaining work; nil for none.
func (a *API) keepWebhook(ctx context.Context, run string, w *runs.Webhook) (next time.Time) {
	a.hooks.Lock()
	defer a.hooks.Unlock()
	var body []byte
	if w != nil {
		if now, err := a.webhook(ctx, run); err == nil { // its thread may have been deleted meanwhile
			w.Payload = now.Payload
		}
		var err error
		if body, err = agent.Encode(w); err != nil {
			a.Log.Error("couldn't store a webhook", "run", run, "err", err)
			return time.Time{}
		}
		next = w.Next
	}
	if err := a.storeWebhook(ctx, run, body); err != nil {
		a.Log.Error("couldn't store a webhook", "run", run, "err", err)
		return a.DB.Now().Add(time.Minute)
	}
	return next
}

// orphaned drops a webhook whose run was deleted, unless it has a stored payload.
func (a *API) orphaned(ctx context.Context, run string) (next time.Time) {
	a.hooks.Lock()
	defer a.hooks.Unlock()
	if w, err := a.webhook(ctx, run); err == nil && w.Payload != nil {
		return a.DB.Now()
	}
	if err := a.storeWebhook(ctx, run, nil); err != nil {
		a.Log.Error("couldn't delete a webhook", "run", run, "err", err)
	}
	return time.Time{}
}

func (a *API) webhook(ctx context.Context, run string) (w runs.Webhook, err error) {
	stored, err := a.DB.KV(ctx, store.Global, runs.WebhookSpace, run)
	if err == nil {
		err = json.Unmarshal(stored, &w)
	}
	return w, err
}

func (a *API) storeWebhook(ctx context.Context, run string, body []byte) error {
	return a.DB.Commit(context.WithoutCancel(ctx),
		store.Batch{KV: []store.KV{{Space: runs.WebhookSpace, Key: run, Body: body}}})
}

// call makes one attempt.
func (a *API) call(ctx context.Context, to, run string, body []byte) error {
	if a.Post == nil {
		return ErrWebhookRefused
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTime)
	defer cancel()
	status, err := a.Post(ctx, to, run, body)
	switch {
	case err != nil:
		return err
	case status/100 == 2:
		return nil
	case status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooEarly &&
		status != http.StatusTooManyRequests:
		return errors.Join(ErrWebhookRefused, httpx.Errorf(status, "it answered %d", status))
	}
	return httpx.Errorf(status, "it answered %d", status)
}

// webhookBody returns a run as it ended: its row and the state it left.
func (a *API) webhookBody(ctx context.Context, run string) ([]byte, error) {
	r, err := a.DB.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	row, err := RunOf(r)
	if err != nil {
		return nil, err
	}
	body := struct {
		Run
		EndedAt string          `json:"run_ended_at"`
		SentAt  string          `json:"webhook_sent_at"`
		Values  json.RawMessage `json:"values"`
	}{Run: row, EndedAt: wire.Stamp(r.UpdatedAt), SentAt: wire.Stamp(a.DB.Now())}
	if body.Values, err = a.lastValues(ctx, r); err != nil {
		return nil, err
	}
	if _, err := a.DB.Run(ctx, run); err != nil { // its values may be gone too
		return nil, err
	}
	return agent.Encode(body)
}

// keepPayload stores a webhook's payload so that it can be sent after the run's thread is deleted.
func (a *API) keepPayload(ctx context.Context, run store.Run) error {
	if !strings.Contains(string(run.Kwargs), `"webhook":`) {
		return nil
	}
	a.hooks.Lock()
	defer a.hooks.Unlock()
	w, err := a.webhook(ctx, run.ID)
	if errors.Is(err, store.ErrNotFound) { // already sent
		return nil
	}
	if err != nil {
		return err
	}
	if w.Payload, err = a.webhookBody(ctx, run.ID); err != nil {
		return err
	}
	body, err := agent.Encode(w)
	if err != nil {
		return err
	}
	return a.storeWebhook(ctx, run.ID, body)
}
