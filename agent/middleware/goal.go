package middleware

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"fawn/agent"
)

// Limits of a thread's goal.
const (
	LongestGoal      = 4000 // characters
	MaxContinuations = 8    // limit of continuations per goal
	MaxNoProgress    = 2    // consecutive ones without new content
)

// NewGoal returns a new goal.
func NewGoal(objective string, continuations int, now time.Time) *agent.Goal {
	at := now.UTC().Format("2006-01-02T15:04:05.000Z")
	return &agent.Goal{Objective: objective, Status: "active", CreatedAt: at, UpdatedAt: at,
		MaxContinuations: continuations, MaxNoProgress: MaxNoProgress}
}

// GoalRules configure how a thread's goal is pursued. Without Ask there is no judge: the model is told the goal, and
// runs end as usual.
type GoalRules struct {
	Ask Ask // asks the judging model
	Now func() time.Time
}

// Goal pursues a thread's goal. The model is told the goal; at the end of a turn a judge decides whether it is reached,
// which clears it, or whether the run continues with a note, within limits. A message that begins with /goal sets,
// shows or clears it.
func Goal(rules GoalRules) agent.Middleware {
	p := &pursuit{rules: rules}
	return agent.Middleware{Name: "goal", BeforeAgent: p.begin, WrapModel: p.reply, AfterModel: p.judge}
}

// pursuit is the goal of one run's thread.
type pursuit struct {
	rules   GoalRules
	answer  string // answer to a command instead of a model's
	replied bool   // this run only answers a command
	last    string // the answer when the run was last continued
}

func (p *pursuit) begin(_ context.Context, t *agent.Turn) (agent.State, error) {
	var patch agent.State
	goal := t.State.Goal
	if n := len(t.State.Messages); n > 0 && t.State.Messages[n-1].Genuine() {
		if text, ok := strings.CutPrefix(strings.TrimSpace(t.State.Messages[n-1].Content.String()), "/goal"); ok {
			patch.Goal = p.command(text, goal)
			p.replied = p.answer != ""
		}
	}
	if patch.Goal != nil {
		goal = patch.Goal
	}
	text := goalNote(goal)
	before := lastNote(&t.State, "goal")
	if text == before || before == "" && !pursued(goal) {
		return patch, nil
	}
	if anchor := agent.LastGenuine(t.State.Messages); anchor != nil {
		n := agent.Note{ID: "goal:" + anchor.ID, Message: anchor.ID, Place: agent.Before, Kind: "goal", Text: text}
		// a model has read the anchor already
		if last := t.State.Messages[len(t.State.Messages)-1]; last.ID != anchor.ID {
			n.ID, n.Message, n.Place = "goal:"+last.ID, last.ID, agent.After
		}
		patch.Notes = []agent.Note{n}
	}
	return patch, nil
}

func pursued(g *agent.Goal) bool { return g != nil && g.Objective != "" && g.Status == "active" }

func goalNote(g *agent.Goal) string {
	if !pursued(g) {
		return "<session_goal>\nThere is no goal any more.\n</session_goal>"
	}
	return "<session_goal>\nThe user set a goal for this conversation. Work towards it until it is reached, and say so with evidence when it is:\n" +
		agent.EscapeLines(g.Objective) + "\n</session_goal>"
}

// command carries out a /goal message; nil leaves the goal unchanged.
func (p *pursuit) command(text string, now *agent.Goal) *agent.Goal {
	if text != "" && strings.TrimLeft(text, " \t\r\n") == text { // another word, as /goals
		return nil
	}
	switch text = strings.TrimSpace(text); strings.ToLower(text) {
	case "clear", "reset", "off":
		p.answer = "There is no goal any more."
		return &agent.Goal{}
	case "":
		p.answer = "This conversation has no goal. Write `/goal` and what should be reached to set one."
		if pursued(now) {
			p.answer = fmt.Sprintf("The goal of this conversation, for which a run was sent back to work %d of %d times:\n\n> %s\n\n`/goal clear` takes it away.",
				now.Continuations, now.MaxContinuations, strings.ReplaceAll(now.Objective, "\n", "\n> "))
		}
		return nil
	}
	if n := utf8.RuneCountInString(text); n > LongestGoal {
		p.answer = fmt.Sprintf("That goal has %d characters; %d is the most. It was not set.", n, LongestGoal)
		return nil
	}
	return NewGoal(text, MaxContinuations, p.rules.Now())
}

// reply answers a command without a model.
func (p *pursuit) reply(next agent.ModelFunc) agent.ModelFunc {
	return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
		if p.answer == "" {
			return next(ctx, t, req)
		}
		text := p.answer
		p.answer = ""
		return textAnswer(t, text), nil
	}
}
