package memory

import (
	"context"
	"fmt"
	"slices"
)

// Scope lists the memories a thread uses. An owner here is any name under which facts are stored.
type Scope struct {
	Learn string   // receives the thread's facts
	Read  []string // read by models, in this order
}

// scope returns the current scope of an owner's thread.
func (s *Service) scope(ctx context.Context, owner, thread string) (Scope, error) {
	if s.Scope == nil {
		return Scope{owner, []string{owner}}, nil
	}
	scope, err := s.Scope(ctx, owner, thread)
	if err != nil {
		return Scope{}, fmt.Errorf("find the memory of thread %s: %w", thread, err)
	}
	return scope, nil
}

// Learner returns the owner whose memory receives the facts of an owner's thread.
func (s *Service) Learner(ctx context.Context, owner, thread string) (string, error) {
	scope, err := s.scope(ctx, owner, thread)
	return scope.Learn, err
}

// Known returns all facts that a thread of owner's reads or has taught, whichever agent's they are.
func (s *Service) Known(ctx context.Context, owner, thread string) ([]Fact, error) {
	scope, err := s.scope(ctx, owner, thread)
	if err != nil {
		return nil, err
	}
	var all []Fact
	for i, of := range append([]string{scope.Learn}, scope.Read...) {
		if i > 0 && slices.Contains(append([]string{scope.Learn}, scope.Read[:i-1]...), of) {
			continue
		}
		facts, err := s.All(ctx, of)
		if err != nil {
			return nil, err
		}
		all = append(all, facts...)
	}
	return all, nil
}
