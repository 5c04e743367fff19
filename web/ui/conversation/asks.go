package conversation

import (
	"context"
	"encoding/json"
	"slices"

	"fawn/agent/mcp/ask"
	"fawn/agent/runs/runevent"
	"fawn/views"
	"fawn/web/hostrules"
)

// Asks returns a thread's open questions: hosts, and forms of MCP servers.
func (h *Handlers) Asks(ctx context.Context, thread string) ([]views.NetworkQuestion, error) {
	out, err := h.serverForms(ctx, thread)
	if err != nil || h.Network == nil {
		return out, err
	}
	open, err := h.Network.Questions(ctx, thread)
	if err != nil {
		return nil, err
	}
	for _, q := range open {
		out = append(out, views.NetworkQuestion{ThreadID: thread, Host: q.Host, Port: q.Port,
			Waiting: h.Network.Waiting(thread, q.Host)})
	}
	return out, nil
}

// aboutHosts reports whether an event changes the open questions.
func aboutHosts(ev runevent.Event) bool {
	if ev.Kind == runevent.KindMeta { // a resumed run on another server has none of its calls
		var meta struct {
			Attempt int `json:"attempt"`
		}
		return json.Unmarshal(ev.Data, &meta) == nil && meta.Attempt > 1
	}
	if ev.Kind != runevent.KindCustom {
		return false
	}
	var custom struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(ev.Data, &custom) == nil &&
		slices.Contains([]string{hostrules.TypeQuestion, hostrules.TypeAnswer, hostrules.TypeWaiting, hostrules.TypeRefused,
			ask.TypeQuestion, ask.TypeAnswer}, custom.Type)
}

// serverForms returns the open forms of MCP servers in a thread.
func (h *Handlers) serverForms(ctx context.Context, thread string) (out []views.NetworkQuestion, err error) {
	if h.MCP == nil {
		return nil, nil
	}
	list, err := h.MCP.Questions(ctx, thread)
	for _, q := range list {
		out = append(out, views.NetworkQuestion{ThreadID: thread, Waiting: true, Form: &views.ServerForm{ID: q.ID,
			Server: q.Server, Text: q.Message, Fields: fieldsOf(q.Fields)}})
	}
	return out, err
}

func fieldsOf(list []ask.Field) (out []views.Field) {
	for _, f := range list {
		v := views.Field{Name: f.Name, Label: f.Title, Type: f.Kind, Required: f.Required,
			Value: f.Default, Values: f.Chosen}
		switch {
		case f.Kind == "array":
			v.Type = "multi_select"
		case len(f.Options) > 0:
			v.Type = "select"
		case f.Kind == "integer":
			v.Type = "number"
		case f.Kind == "boolean":
			v.Type = "checkbox"
		case f.Format == "date":
			v.Type = "date"
		case f.Kind == "string":
			v.Type = "text"
		}
		if f.Description != "" {
			v.Label += ": " + f.Description
		}
		for _, o := range f.Options {
			v.Options = append(v.Options, views.Choice{Label: o.Title, Value: o.Value})
		}
		out = append(out, v)
	}
	return out
}
