package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/a-h/templ"

	"fawn/views"
)

// askID names a question's element; its message's id may hold anything.
func askID(q views.Question) string {
	sum := sha256.Sum256([]byte(q.ID))
	return "ask-" + hex.EncodeToString(sum[:8])
}

func askIcon(kind string) string {
	switch kind {
	case "approach_choice":
		return "waypoints"
	case "risk_confirmation":
		return "triangle-alert"
	case "suggestion":
		return "lightbulb"
	}
	return "message-circle-question-mark"
}

func askKind(kind string) string {
	switch kind {
	case "ambiguous_requirement", "approach_choice", "risk_confirmation", "suggestion":
		return "ask.kind." + kind
	}
	return "ask.kind.missing_info"
}

func fieldName(n int) string { return "f" + strconv.Itoa(n) }

func fieldType(kind string) string {
	switch kind {
	case "number", "date":
		return kind
	}
	return "text"
}

// fieldStep allows a number with any digits.
func fieldStep(kind string) templ.Attributes {
	if kind == "number" {
		return templ.Attributes{"step": "any"}
	}
	return nil
}

func doneTodos(list []views.Todo) int {
	n := 0
	for _, t := range list {
		if t.State == views.TodoDone {
			n++
		}
	}
	return n
}

// planned reports whether all of a plan is done.
func planned(list []views.Todo) bool { return doneTodos(list) == len(list) }

func planID(list []views.Todo) string {
	if planned(list) {
		return "plan-done"
	}
	return "plan"
}

// planItemID returns the element id of an item, whose own id may contain anything.
func planItemID(t views.Todo) string {
	sum := sha256.Sum256([]byte(t.ID))
	return "plan-" + hex.EncodeToString(sum[:6])
}

// currentTodo returns the item in progress, or the next one.
func currentTodo(list []views.Todo) string {
	next := ""
	for _, t := range list {
		switch {
		case t.State == views.TodoWork:
			return t.Text
		case t.State == views.TodoOpen && next == "":
			next = t.Text
		}
	}
	return next
}
