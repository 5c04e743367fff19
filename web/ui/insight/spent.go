package insight

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"fawn/agent/runs"
	"fawn/agent/runs/request"
	"fawn/store"
	"fawn/views"
	"fawn/web/ui/page"
	"fawn/web/ui/turns"
)

// usageRuns limits the runs on a chat's usage page.
const usageRuns = 40

// Spent fills in the usage of a thread's runs and side calls.
func (h *Handlers) Spent(ctx context.Context, p *views.UsagePage) error {
	list, err := h.DB.Runs(ctx, p.ThreadID, "", 0, 0)
	if err != nil {
		return err
	}
	side, err := h.DB.SideCalls(ctx, p.ThreadID)
	if err != nil {
		return err
	}
	beside := map[string][]views.Spent{} // by run
	for _, s := range side {
		one := views.Spent{Purpose: s.Purpose, Calls: s.Calls, Input: s.Input, Output: s.Output,
			Money: price(s.Cost, s.Currency)}
		p.Unpriced = p.Unpriced || s.Total > 0 && s.Currency == ""
		beside[s.Run] = append(beside[s.Run], one)
	}
	for _, r := range list {
		run := views.RunSpent{ID: r.ID, Text: page.FirstWords(request.StartText(r)), At: r.CreatedAt}
		if run.State = views.TurnRunning; runs.Done(r.Status) {
			run.State, _ = turns.Outcome(r)
		}
		var unpriced bool
		run.Parts, unpriced = h.byModel(r)
		run.Parts = append(run.Parts, beside[r.ID]...)
		delete(beside, r.ID)
		if len(run.Parts) == 0 {
			continue
		}
		for _, part := range run.Parts {
			addSpent(&run.Sum, part)
		}
		addSpent(&p.Sum, run.Sum)
		p.Unpriced = p.Unpriced || unpriced
		if len(p.Runs) == usageRuns {
			p.More++
			continue
		}
		p.Runs = append(p.Runs, run)
	}
	for _, run := range slices.Sorted(maps.Keys(beside)) { // of no run, and of runs that are gone
		p.Beside = append(p.Beside, beside[run]...)
		for _, part := range beside[run] {
			addSpent(&p.Sum, part)
		}
	}
	return nil
}

// byModel returns the usage of each model for a run's answers, and for its helpers. unpriced means that some calls have
// no known price.
func (h *Handlers) byModel(r store.Run) (list []views.Spent, unpriced bool) {
	var usage struct {
		Input   int                  `json:"total_input_tokens"`
		Output  int                  `json:"total_output_tokens"`
		Total   int                  `json:"total_tokens"`
		Calls   int                  `json:"llm_call_count"`
		Models  map[string]modelTook `json:"by_model"`
		Helpers map[string]modelTook `json:"subagent_by_model"`
	}
	if json.Unmarshal(r.Usage, &usage) != nil || usage.Total == 0 {
		return nil, false
	}
	if len(usage.Models)+len(usage.Helpers) == 0 { // of a run that ended before each model was counted
		return []views.Spent{{Name: "?", Calls: usage.Calls, Input: usage.Input, Output: usage.Output}}, true
	}
	add := func(models map[string]modelTook, helpers bool) {
		for _, name := range slices.Sorted(maps.Keys(models)) {
			m := models[name]
			unpriced = unpriced || m.Currency == ""
			list = append(list, views.Spent{Name: h.ownLabel(name), Helpers: helpers, Calls: m.Calls, Input: m.Input,
				Output: m.Output,
				Cached: m.Cached, Money: price(m.Cost, m.Currency)})
		}
	}
	add(usage.Models, false)
	add(usage.Helpers, true)
	return list, unpriced
}

// modelTook is one model's part of a run's usage.
type modelTook struct {
	Input    int     `json:"input_tokens"`
	Output   int     `json:"output_tokens"`
	Cached   int     `json:"cached_input_tokens"`
	Calls    int     `json:"llm_call_count"`
	Cost     float64 `json:"cost"`
	Currency string  `json:"currency"`
}

// ownLabel returns the display name of a model with this configured or provider name.
func (h *Handlers) ownLabel(name string) string {
	if m, known := h.Config.Current().Model(name); known {
		return cmp.Or(m.DisplayName, m.Name)
	}
	return h.ModelLabel(name)
}

func price(cost float64, currency string) []views.Money {
	if currency == "" {
		return nil
	}
	return []views.Money{{Amount: cost, Currency: currency}}
}

// addSpent adds up; nothing is converted where currencies meet.
func addSpent(sum *views.Spent, s views.Spent) {
	sum.Calls, sum.Input, sum.Output, sum.Cached = sum.Calls+s.Calls, sum.Input+s.Input, sum.Output+s.Output,
		sum.Cached+s.Cached
	for _, m := range s.Money {
		same := func(have views.Money) bool { return have.Currency == m.Currency }
		if i := slices.IndexFunc(sum.Money, same); i >= 0 {
			sum.Money = slices.Clone(sum.Money)
			sum.Money[i].Amount += m.Amount
		} else {
			sum.Money = append(slices.Clip(sum.Money), m)
		}
	}
}
