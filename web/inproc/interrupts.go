package inproc

import (
	"cmp"
	"strings"
)

// Interrupts are the open questions of a thread, as its state has them.
type Interrupts []struct {
	Value struct {
		Question string   `json:"question"`
		Context  string   `json:"context"`
		Options  []Option `json:"options"`
	} `json:"value"`
}

// Option is one of the answers that a question offers.
type Option struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// Text returns the label of a choice.
func (o Option) Text() string { return cmp.Or(o.Label, o.Value) }

// Text returns the questions as paragraphs, each followed by a list of its options; "" for none.
func (list Interrupts) Text() string {
	var parts []string
	for _, in := range list {
		question := in.Value.Question
		for i, o := range in.Value.Options {
			if i == 0 {
				question += "\n"
			}
			question += "\n- " + o.Text()
		}
		for _, part := range []string{in.Value.Context, question} {
			if part != "" {
				parts = append(parts, part)
			}
		}
	}
	return strings.Join(parts, "\n\n")
}
