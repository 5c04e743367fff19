package runs

import (
	"bytes"
	"encoding/json"
	"time"

	"fawn/agent"
	"fawn/store"
)

// WebhookSpace holds the ended runs with pending notifications. The key is the run's id, the body a [Webhook].
const WebhookSpace = "webhook"

// Webhook is an address to notify of a run's end. It is stored with the end, so a restart in between doesn't lose it.
type Webhook struct {
	URL      string          `json:"url"`
	Attempts int             `json:"attempts,omitempty"` // number of failed attempts
	Next     time.Time       `json:"next,omitzero"`      // not before
	Payload  json.RawMessage `json:"payload,omitempty"`  // sent if the run's rows are gone
}

// webhooks returns the webhooks to store with the end of a run, usually none.
func webhooks(run store.Run) []store.KV {
	if !bytes.Contains(run.Kwargs, []byte(`"webhook":`)) { // the request may be long
		return nil
	}
	var req struct {
		Webhook string `json:"webhook"`
	}
	if json.Unmarshal(run.Kwargs, &req) != nil || req.Webhook == "" {
		return nil
	}
	body, err := agent.Encode(Webhook{URL: req.Webhook})
	if err != nil {
		return nil
	}
	return []store.KV{{Space: WebhookSpace, Key: run.ID, Body: body}}
}
