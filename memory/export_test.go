package memory

import "context"

// Work learns what is due now, once. What has failed before is forgotten.
func (s *Service) Work(ctx context.Context) { s.work(ctx, map[string]failed{}) }

// Attempts learns what is due now and keeps count of failures between calls.
func (s *Service) Attempts() func(ctx context.Context) {
	tried := map[string]failed{}
	return func(ctx context.Context) { s.work(ctx, tried) }
}

// ParseAnswer tells what an answer of a model's holds.
func ParseAnswer(text string) (facts, rejected int, err error) {
	a, err := parseAnswer(text)
	for _, f := range a.facts {
		if f != nil {
			facts++
		}
	}
	return facts, a.rejected, err
}

// Explicit are the contents of what people ask to remember.
func Explicit(said []Said) (list []string) {
	for _, f := range explicit(said) {
		list = append(list, f.Category+": "+f.Content)
	}
	return list
}

// Hints is how many signals a conversation has.
func Hints(said []Said) int { return len(hints(said)) }

// Stem is a word without its endings.
func Stem(w string) string { return stem(w) }

// Tokens is the estimate of a budget.
func Tokens(s string) int { return tokens(s) }
