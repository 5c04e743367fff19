package load

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"

	"fawn/web/e2e/scriptmodel"
)

// prefixTurns is the length of the thread whose requests are compared.
const prefixTurns = 20

// prefix measures the part of a request not shared with the next one, in a thread with a tool call in each turn.
// Providers cache the beginning of a request and charge little for it.
func (b *bench) prefix(ctx context.Context) error {
	data, err := os.MkdirTemp(b.Dir, "prefix-")
	if err != nil {
		return err
	}
	t, p, err := b.server(ctx, "prefix", data)
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := b.script(ctx, http.MethodDelete, nil); err != nil {
		return err
	}
	thread, err := t.Thread(ctx)
	if err != nil {
		return err
	}
	for i := range prefixTurns {
		s, err := t.Run(ctx, thread,
			fmt.Sprintf(`Question %d. SCRIPT{"turns": [{"tool_calls": [{"name": "ls", "args": {"description": "look", "path": "/mnt/user-data/workspace"}}]}, {"tokens": 40}]}`, i))
		if err != nil {
			return err
		}
		if s.Tokens != 40 {
			return fmt.Errorf("turn %d: %d of 40 tokens arrived", i+1, s.Tokens)
		}
	}
	var sent []scriptmodel.Request
	if err := b.script(ctx, http.MethodGet, &sent); err != nil {
		return err
	}
	part, err := unshared(sent)
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("part of a request that the next one does not repeat, %d turns", prefixTurns), "%", part*100,
		math.NaN(), limitUnshared)
	return nil
}

// script reads or clears the model's recorded requests.
func (b *bench) script(ctx context.Context, method string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, b.model+"/script/requests", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(into)
}

// unshared returns the part of the requests, except the last, that isn't a prefix of the following one: tools first,
// then messages, as providers read them.
func unshared(sent []scriptmodel.Request) (float64, error) {
	if len(sent) < 2 {
		return 0, fmt.Errorf("the model got %d requests", len(sent))
	}
	var all, lost int
	before := ""
	for i, r := range sent {
		var body struct {
			Messages json.RawMessage `json:"messages"`
			Tools    json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return 0, fmt.Errorf("request %d: %w", r.N, err)
		}
		now := string(body.Tools) + string(body.Messages)
		if i > 0 {
			same := 0
			for same < len(before) && same < len(now) && before[same] == now[same] {
				same++
			}
			all, lost = all+len(before), lost+len(before)-same
		}
		before = now
	}
	return float64(lost) / float64(all), nil
}
