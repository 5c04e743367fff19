package insight

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/tracestore"
	"fawn/store"
	"fawn/views"
	"fawn/views/insight"
	"fawn/web/ui/page"
)

// inspectPage handles GET /workspace/chats/:id/runs/:run: the calls of a run.
func (h *Handlers) inspectPage(c echo.Context, t store.Thread) error {
	ctx, id := c.Request().Context(), page.Param(c, "run")
	run, err := h.DB.Run(ctx, id)
	if err == nil && run.ThreadID != t.ID {
		err = store.ErrNotFound
	}
	if err != nil {
		return err
	}
	p := views.InspectPage{ThreadID: t.ID, RunID: id, Title: t.Title, Off: h.Inspect == nil}
	if p.Shell, err = h.Shell(c, views.NavNone, t.ID); err != nil {
		return err
	}
	if h.Inspect == nil {
		return page.HTML(c, http.StatusOK, insight.Inspect(p))
	}
	list, err := h.Inspect.Spans(ctx, t.ID, id)
	if err != nil {
		return err
	}
	h.fall(&p, list)
	for i, s := range list {
		if p.Calls[i].ID != c.QueryParam("call") {
			continue
		}
		p.Open = &views.OpenCall{Call: p.Calls[i], Provider: s.Provider, Finish: s.Finish, Error: s.Error,
			Args: indented(s.Args), Result: s.Result, Answer: s.Answer}
		prompt, err := h.Inspect.Prompt(ctx, t.ID, s)
		if err == nil {
			p.Open.Prompt = sentPrompt(prompt)
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return page.HTML(c, http.StatusOK, insight.Inspect(p))
}

// fall fills in the waterfall of a run's calls.
func (h *Handlers) fall(p *views.InspectPage, list []tracestore.Span) {
	if len(list) == 0 {
		return
	}
	from, to := list[0].Began, int64(0)
	for _, s := range list {
		from, to = min(from, s.Began), max(to, s.Began+s.Took)
	}
	p.Took = time.Duration(to-from) * time.Microsecond
	for _, s := range list {
		if end := s.Began + s.Took; s.Kind == tracestore.KindRun && s.Helper == "" && end < to {
			p.Took, p.After = time.Duration(s.Took)*time.Microsecond, time.Duration(to-end)*time.Microsecond
		}
	}
	at := func(moment int64) int { return int((moment - from) * 1000 / max(to-from, 1)) }
	for _, s := range list {
		one := views.Call{ID: strconv.FormatInt(s.N, 10), Kind: s.Kind, Name: s.Name, Helper: s.Helper != "",
			From: at(s.Began), To: at(s.Began + s.Took), Took: time.Duration(s.Took) * time.Microsecond,
			Wait: time.Duration(s.First) * time.Microsecond, Status: s.Status}
		if s.First > 0 {
			one.First = at(s.Began + s.First)
		}
		if s.Kind == tracestore.KindModel {
			one.Name = h.ownLabel(s.Name)
		}
		if s.Usage != nil {
			one.Spent = views.Spent{Calls: 1, Input: s.Usage.Input, Output: s.Usage.Output,
				Cached: s.Usage.InputDetails["cache_read"], Money: price(s.Usage.Cost, s.Usage.Currency)}
			addSpent(&p.Sum, one.Spent)
		}
		p.Calls = append(p.Calls, one)
	}
}

func sentPrompt(p tracestore.Prompt) *views.PromptSent {
	out := &views.PromptSent{System: p.System, Missing: p.Missing}
	for _, t := range p.Tools {
		first, _, _ := strings.Cut(t.Description, "\n")
		out.Tools = append(out.Tools, views.PromptTool{Name: t.Name, Text: agent.Head(first, 200)})
	}
	for _, raw := range p.Messages {
		list, err := agent.ParseMessages(raw)
		if err != nil || len(list) != 1 {
			out.Missing++
			continue
		}
		m, text := list[0], list[0].Content.String()
		if thought, _ := m.Kwargs["reasoning_content"].(string); thought != "" {
			text = thought + "\n\n" + text
		}
		for _, call := range m.ToolCalls {
			text += "\n→ " + call.Name + " " + string(call.Args)
		}
		out.Messages = append(out.Messages, views.PromptMessage{Role: m.Type, Text: strings.TrimPrefix(text, "\n")})
	}
	return out
}

// indented formats JSON for people.
func indented(s string) string {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return s
	}
	return string(b)
}
