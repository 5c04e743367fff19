package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/input"
	"fawn/web/ui/page"
)

// usageRuns is how many runs the page of what a chat took lists.
const usageRuns = 40

// usage is GET /ui/threads/:id/usage: what a chat took.
func (u *UI) usage(c echo.Context, t store.Thread) error {
	return u.usagePage(c, t, nil, http.StatusOK)
}

// usagePage shows what a chat took; did is what shortening it came to.
func (u *UI) usagePage(c echo.Context, t store.Thread, did *views.Notice, status int) error {
	ctx := c.Request().Context()
	v, err := u.load(ctx, t.ID, "", everything, "")
	if err != nil {
		return err
	}
	p := views.UsagePage{Modal: page.WantsFragment(c.Request()), ThreadID: v.thread.ID, Title: v.heading(), Notice: did,
		Running: v.running(),
		Empty:   len(v.turns.turns) == 0, Gauge: v.turns.gauge, Hidden: v.hidden}
	if p.Shell, err = u.Shell(c, views.NavNone, v.thread.ID); err != nil {
		return err
	}
	if p.Notice == nil {
		p.Notice = u.compacted(c, v)
	}
	if err := u.spent(ctx, &p); err != nil {
		return err
	}
	return page.HTML(c, status, chat.UsagePage(p))
}

// spent fills in what the runs of a thread took, and the calls beside them.
func (u *UI) spent(ctx context.Context, p *views.UsagePage) error {
	list, err := u.DB.Runs(ctx, p.ThreadID, "", 0, 0)
	if err != nil {
		return err
	}
	side, err := u.DB.SideCalls(ctx, p.ThreadID)
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
		run := views.RunSpent{ID: r.ID, Text: page.FirstWords(input.Text(r)), At: r.CreatedAt}
		if run.State = views.TurnRunning; runs.Done(r.Status) {
			run.State, _ = outcome(r)
		}
		var unpriced bool
		run.Parts, unpriced = u.byModel(r)
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

// byModel is what each model took for a run's answers, and for its helpers. unpriced says that
// for a part no price is known.
func (u *UI) byModel(r store.Run) (list []views.Spent, unpriced bool) {
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
			list = append(list, views.Spent{Name: u.ownLabel(name), Helpers: helpers, Calls: m.Calls, Input: m.Input,
				Output: m.Output,
				Cached: m.Cached, Money: price(m.Cost, m.Currency)})
		}
	}
	add(usage.Models, false)
	add(usage.Helpers, true)
	return list, unpriced
}

// modelTook is the part of one model in what a run took.
type modelTook struct {
	Input    int     `json:"input_tokens"`
	Output   int     `json:"output_tokens"`
	Cached   int     `json:"cached_input_tokens"`
	Calls    int     `json:"llm_call_count"`
	Cost     float64 `json:"cost"`
	Currency string  `json:"currency"`
}

// ownLabel is what people call a model that is called name here, or by its provider.
func (u *UI) ownLabel(name string) string {
	if m, known := u.Config.Current().Model(name); known {
		return cmp.Or(m.DisplayName, m.Name)
	}
	return u.modelLabel(name)
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
		if i := slices.IndexFunc(sum.Money, func(have views.Money) bool { return have.Currency == m.Currency }); i >= 0 {
			sum.Money = slices.Clone(sum.Money)
			sum.Money[i].Amount += m.Amount
		} else {
			sum.Money = append(slices.Clip(sum.Money), m)
		}
	}
}

// used notes how much of its model's window an answer and its request filled.
func (b *builder) used(m *agent.Message) {
	if m.Usage == nil || m.Usage.Total == 0 || b.window == nil {
		return
	}
	provider, _ := m.Meta["model_name"].(string)
	b.gauge = views.Gauge{Tokens: m.Usage.Total, Window: b.window(m.Usage.Model, provider)}
}

// relieve brings the gauge up to date when the conversation was shortened by hand after the
// last answer: by about as much as the next request has less.
func (u *UI) relieve(ctx context.Context, v *conversation, snap store.Snapshot) error {
	const steps = 8 // made by hand since the last run
	cp, before := snap.Checkpoint, ""
	for i := 0; i < steps && cp.Run == "" && cp.Parent != ""; i++ {
		parent, err := u.DB.Checkpoint(ctx, v.thread.ID, "", cp.Parent)
		if isGone(err) {
			break
		}
		if err != nil {
			return err
		}
		if parent.Card.Fields["view"] != cp.Card.Fields["view"] {
			before = parent.ID
		}
		cp = parent
	}
	if before == "" || !v.turns.gauge.Known() {
		return nil
	}
	old, err := u.DB.Snapshot(ctx, v.thread.ID, before)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var s agent.State
	for _, row := range snap.Messages {
		m, err := agent.ParseMessage(row.Body)
		if err != nil {
			return err
		}
		s.Messages = append(s.Messages, m)
	}
	size := func(of store.Snapshot) (int, error) {
		s.View = nil
		err := decodeField(of, "view", &s.View)
		return middleware.Tokens(&s), err
	}
	was, err := size(old)
	if err != nil {
		return err
	}
	now, err := size(snap)
	if err != nil {
		return err
	}
	g := &v.turns.gauge
	g.Tokens, g.About = max(1, g.Tokens-max(0, was-now)), true
	return nil
}
