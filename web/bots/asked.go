package bots

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fawn/agent/channels"
	"fawn/agent/runs"
	"fawn/store"
)

// Names of notes for the server with the bots. They end with a provider, and the run of an answer.
const (
	askedNote   = "bot/"
	restartNote = askedNote + "restart/"
	retryNote   = askedNote + "retry/"

	askedTime = time.Minute // after this time no server has that bot
)

// Restart reopens a bot on whichever server has it. It reports whether it exists.
func (s *Service) Restart(ctx context.Context, provider string) (bool, error) {
	if s.Hub.Restart(provider) {
		return true, nil
	}
	if _, ok := s.Hub.Status(provider); !ok {
		return false, nil
	}
	return true, s.ask(ctx, restartNote+provider)
}

// Retry resends the answer of a run from the server that has the bot. Errors: channels.ErrNoBot,
// runs.ErrNotFound, and runs.ErrBusy while it is being sent here.
func (s *Service) Retry(ctx context.Context, run string) error {
	err := s.Hub.Retry(ctx, run)
	if !errors.Is(err, channels.ErrNoBot) || !s.DB.Clustered() {
		return err
	}
	rows, readErr := s.DB.Outbound(ctx, run)
	if readErr != nil {
		return readErr
	}
	if len(rows) == 0 || !s.running(rows[0].Provider) {
		return err
	}
	return s.ask(ctx, retryNote+rows[0].Provider+"/"+run)
}

func (s *Service) running(provider string) bool {
	status, ok := s.Hub.Status(provider)
	return ok && status.Running
}

func (s *Service) ask(ctx context.Context, name string) error {
	err := s.DB.SwapNotes(ctx, nil, store.Note{Name: name, Until: s.DB.Now().Add(askedTime), Over: true})
	if err != nil {
		return fmt.Errorf("ask the server with the bot: %w", err)
	}
	return nil
}

// Asked carries out other servers' requests for the bots of this one.
func (s *Service) Asked(ctx context.Context) error {
	list, err := s.DB.Notes(ctx, askedNote)
	if err != nil {
		return err
	}
	for _, n := range list {
		provider, restart := strings.CutPrefix(n.Name, restartNote)
		rest, _ := strings.CutPrefix(n.Name, retryNote)
		if !restart {
			provider, rest, _ = strings.Cut(rest, "/")
			if !s.running(provider) { // it may run soon
				continue
			}
		}
		if err := s.DB.SwapNotes(ctx, []string{n.Name}); errors.Is(err, store.ErrChanged) {
			continue // another server did it
		} else if err != nil {
			return err
		}
		if restart {
			s.Hub.Restart(provider)
		} else if err := s.Hub.Retry(ctx, rest); err != nil && !errors.Is(err, channels.ErrNoBot) &&
			!errors.Is(err, runs.ErrBusy) && !errors.Is(err, runs.ErrNotFound) {
			return err
		}
	}
	return nil
}
