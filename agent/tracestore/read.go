package tracestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fawn/store"
)

// Spans returns the spans of a run and its helpers in order of their start.
func (s *Service) Spans(ctx context.Context, thread, run string) ([]Span, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	rows, err := s.db.Spans(ctx, thread, run)
	if err != nil {
		return nil, err
	}
	out := make([]Span, 0, len(rows))
	for _, row := range rows {
		var one Span
		b, err := unpacked(row.Body)
		if err == nil {
			err = json.Unmarshal(b, &one)
		}
		if err != nil {
			return nil, fmt.Errorf("read a trace of run %s: %w", run, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// Prompt returns the prompt of a call. Error: store.ErrNotFound if nothing was kept.
func (s *Service) Prompt(ctx context.Context, thread string, span Span) (Prompt, error) {
	out := Prompt{Messages: []json.RawMessage{}, Tools: []Tool{}}
	if span.Prompt == nil {
		return out, fmt.Errorf("prompt of call %d: %w", span.N, store.ErrNotFound)
	}
	out.Options = span.Prompt.With
	piece := func(hash []byte) ([]byte, error) {
		if len(hash) == 0 {
			return nil, nil
		}
		b, err := s.db.PromptPart(ctx, thread, hash)
		if errors.Is(err, store.ErrNotFound) {
			out.Missing++
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return unpacked(b)
	}
	system, err := piece(span.Prompt.System)
	if err != nil {
		return out, err
	}
	out.System = string(system)
	tools, err := piece(span.Prompt.Tools)
	if err != nil {
		return out, err
	}
	if tools != nil {
		if err := json.Unmarshal(tools, &out.Tools); err != nil {
			return out, fmt.Errorf("read the tools of call %d: %w", span.N, err)
		}
	}
	for _, hash := range span.Prompt.Lists {
		list, err := piece(hash)
		if err != nil {
			return out, err
		}
		for ; len(list) >= hashLen; list = list[hashLen:] {
			b, err := piece(list[:hashLen])
			if err != nil {
				return out, err
			}
			if b != nil {
				out.Messages = append(out.Messages, b)
			}
		}
	}
	return out, nil
}

// forgetEvery is the interval of deleting expired records.
const forgetEvery = 10 * time.Minute

// Forget deletes records that the current rules no longer keep, repeatedly until ctx ends.
func (s *Service) Forget(ctx context.Context) {
	for {
		wait := time.NewTimer(forgetEvery)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		if err := s.ForgetOld(ctx, s.db.Now()); err != nil && ctx.Err() == nil {
			s.log.Warn("couldn't delete old traces", "err", err)
		}
	}
}

// ForgetOld deletes records older than the rules allow at now.
func (s *Service) ForgetOld(ctx context.Context, now time.Time) error {
	keep := s.rules().Keep
	for more := keep > 0; more; {
		var err error
		if more, err = s.db.ForgetTraces(ctx, now.Add(-keep)); err != nil {
			return err
		}
	}
	return nil
}
