package request

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"fawn/agent"
)

// InterruptID returns the id of an open question: 32 hex digits derived from the asking call and message, so it stays
// the same until the question is answered.
func InterruptID(question *agent.Message) string {
	name := []byte(agent.NodeInterrupt + question.ToolCallID + "\x00" + question.ID)
	return strings.ReplaceAll(uuid.NewSHA1(uuid.NameSpaceOID, name).String(), "-", "")
}

// InterruptError refuses an answer to a question that is not open.
type InterruptError struct {
	ID   string   // referenced by the answer
	Open []string // ids of the questions it could answer
}

// Error implements error.
func (e *InterruptError) Error() string {
	open := "no question is open"
	if len(e.Open) > 0 {
		open = "open: " + strings.Join(e.Open, ", ")
	}
	return fmt.Sprintf("no open question has the id %.80s (%s)", e.ID, open)
}

// ErrorName returns the error's name for clients.
func (e *InterruptError) ErrorName() string { return "NoSuchInterrupt" }

// CheckResume refuses a resume that names questions that aren't open in s, for a thread at next.
func CheckResume(next []string, s *agent.State, resume json.RawMessage) error {
	answers := answersByID(resume)
	if len(answers) == 0 {
		return nil
	}
	open := []string{}
	if slices.Contains(next, agent.NodeInterrupt) {
		if question := agent.Question(s); question != nil {
			open = append(open, InterruptID(question))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		if !slices.Contains(open, id) {
			return &InterruptError{ID: id, Open: open}
		}
	}
	return nil
}

// Resumes reports whether an input or a resume is a map of answers by the ids of questions.
func Resumes(raw json.RawMessage) bool { return len(answersByID(raw)) > 0 }

// answersByID reads a map of answers by question id. Any other object is itself an answer and returns none.
func answersByID(resume json.RawMessage) map[string]json.RawMessage {
	var answers map[string]json.RawMessage
	if json.Unmarshal(resume, &answers) != nil {
		return nil
	}
	for id := range answers {
		if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
			return nil
		}
	}
	return answers
}
