package chat

import (
	"slices"

	"fawn/views"
)

// hostHint describes the effect of an answer: a waiting command continues, else the agent has to try again.
func hostHint(list []views.NetworkQuestion) string {
	if slices.ContainsFunc(list, func(q views.NetworkQuestion) bool { return q.Waiting }) {
		return "network.paused"
	}
	return "network.hint"
}

// serverForms returns the questions that MCP servers ask.
func serverForms(list []views.NetworkQuestion) []views.NetworkQuestion {
	return slices.DeleteFunc(slices.Clone(list), func(q views.NetworkQuestion) bool { return q.Form == nil })
}

// hostAsks returns the questions about hosts.
func hostAsks(list []views.NetworkQuestion) []views.NetworkQuestion {
	return slices.DeleteFunc(slices.Clone(list), func(q views.NetworkQuestion) bool { return q.Form != nil })
}
