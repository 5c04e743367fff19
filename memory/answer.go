package memory

import (
	"encoding/json"
	"errors"
	"strings"
)

// maxAnswer limits a model's answer to a lesson, in bytes, and maxItems a list in it.
const (
	maxAnswer = 256 << 10
	maxItems  = 50
)

var errAnswer = errors.New("the model's answer is not the JSON that was asked for")

// answer is the parsed answer of a model. Invalid items are left out.
type answer struct {
	sections   map[string]sectionChange
	facts      []*newFact // nil for invalid ones, to keep indexes
	remove     []removal
	reinforce  []string
	staleGone  []string
	staleLater []extension
	rejected   int
}

type sectionChange struct {
	Summary   string `json:"summary"`
	Should    bool   `json:"shouldUpdate"`
	Scope     string `json:"scope"`
	Authority string `json:"authority"`
}

type newFact struct {
	Content    string  `json:"content"`
	Category   string  `json:"category"`
	Confidence float64 `json:"confidence"`
	ValidDays  int     `json:"expected_valid_days"`
	Scope      string  `json:"scope"`
	Durability string  `json:"durability"`
	Authority  string  `json:"authority"`
	Avoid      string  `json:"sourceError"`
	message    string
}

type removal struct {
	ID          string `json:"id"`
	Scope       string `json:"scope"`
	Reason      string `json:"reason"`
	Replacement *int   `json:"replacementFactIndex"`
}

type extension struct {
	ID   string `json:"id"`
	Days int    `json:"expected_valid_days"`
}

// parseAnswer parses a model's answer: one JSON object, possibly after thoughts and in a fence.
func parseAnswer(text string) (answer, error) {
	if len(text) > maxAnswer {
		return answer{}, errAnswer
	}
	var raw struct {
		User       map[string]json.RawMessage `json:"user"`
		History    map[string]json.RawMessage `json:"history"`
		Facts      []json.RawMessage          `json:"newFacts"`
		Remove     []json.RawMessage          `json:"factsToRemove"`
		Reinforce  []json.RawMessage          `json:"factsToReinforce"`
		StaleGone  []json.RawMessage          `json:"staleFactsToRemove"`
		StaleLater []json.RawMessage          `json:"staleFactsToExtend"`
	}
	if err := json.Unmarshal([]byte(object(text)), &raw); err != nil {
		return answer{}, errors.Join(errAnswer, err)
	}
	a := answer{sections: map[string]sectionChange{}}
	for group, sections := range map[string]map[string]json.RawMessage{"user": raw.User, "history": raw.History} {
		for key, v := range sections {
			if c, ok := item[sectionChange](v); ok {
				a.sections[group+"."+key] = c
			}
		}
	}
	for _, v := range first(raw.Facts) {
		f, ok := item[newFact](v)
		if !ok {
			a.rejected++
			a.facts = append(a.facts, nil)
			continue
		}
		a.facts = append(a.facts, &f)
	}
	a.remove = items[removal](raw.Remove)
	a.staleLater = items[extension](raw.StaleLater)
	a.reinforce, a.staleGone = ids(raw.Reinforce), ids(raw.StaleGone)
	return a, nil
}

// object returns the part of a text from its first brace to its last.
func object(text string) string {
	if i := strings.LastIndex(text, "</think>"); i >= 0 {
		text = text[i:]
	}
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return ""
	}
	return text[from : to+1]
}

func first(list []json.RawMessage) []json.RawMessage { return list[:min(len(list), maxItems)] }

// item reads one entry; false if it is not of the form.
func item[T any](raw json.RawMessage) (v T, ok bool) {
	return v, string(raw) != "null" && json.Unmarshal(raw, &v) == nil
}

func items[T any](list []json.RawMessage) []T {
	var out []T
	for _, raw := range first(list) {
		if v, ok := item[T](raw); ok {
			out = append(out, v)
		}
	}
	return out
}

// ids reads a list of ids, or of objects that have one.
func ids(list []json.RawMessage) []string {
	var out []string
	for _, raw := range first(list) {
		if id, ok := item[string](raw); ok {
			out = append(out, id)
		} else if v, ok := item[struct {
			ID string `json:"id"`
		}](raw); ok {
			out = append(out, v.ID)
		}
	}
	return out
}
