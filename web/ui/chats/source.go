package chats

import (
	"encoding/json"
	"slices"

	"fawn/agent/channels"
	"fawn/views"
)

// sourceOf returns the filter named in an address; unknown ones are ignored.
func sourceOf(name string) views.Source {
	if name == views.FromApps {
		return views.Source{Name: name}
	}
	p, _ := channels.ProviderOf(name)
	return views.Source{Name: p.Name, Label: p.Display}
}

// begunIn returns the metadata contained in threads that a filter admits.
func begunIn(from views.Source) json.RawMessage {
	switch from.Name {
	case "":
		return nil
	case views.FromApps:
		return json.RawMessage(`{"channel_source":{}}`)
	}
	return json.RawMessage(`{"channel_source":{"provider":"` + from.Name + `"}}`)
}

// apps returns the selectable chat apps: those with a bot, and the origins of listed chats.
func (h *Handlers) apps(l views.ChatList) (out []views.Source) {
	for _, p := range channels.Providers() {
		has := l.From.Name == p.Name || slices.ContainsFunc(l.Rows, func(r views.ChatRow) bool {
			return r.Source.Name == p.Name
		})
		if !has && h.Bots.Available() {
			_, has = h.Bots.Hub.Status(p.Name)
		}
		if has {
			out = append(out, views.Source{Name: p.Name, Label: p.Display})
		}
	}
	return out
}
