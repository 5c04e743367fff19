package client

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// show prints the events of a run.
type show struct {
	Screen
	open bool   // the last line on the terminal has no line end
	last string // id of the message it belongs to
	said string // all text of that message
	told string // last note written
}

// note prints a line about the progress, once until another note.
func (s *show) note(text string) {
	if text == s.told {
		return
	}
	s.close()
	s.told = text
	fmt.Fprintf(s.Progress, "· %s\n", text)
}

// delta prints a piece of an answer.
func (s *show) delta(data []byte) {
	if !s.Live || s.JSON {
		return
	}
	var frame []json.RawMessage
	var m message
	if json.Unmarshal(data, &frame) != nil || len(frame) == 0 || json.Unmarshal(frame[0], &m) != nil ||
		m.Type != "AIMessageChunk" {
		return
	}
	text := m.text()
	if text == "" {
		return
	}
	if m.ID != s.last {
		s.close()
		s.last, s.said = m.ID, ""
	}
	s.said += text
	s.open = true
	io.WriteString(s.Answer, plain(text))
}

// close ends the line of an answer.
func (s *show) close() {
	if s.open && !strings.HasSuffix(s.said, "\n") {
		io.WriteString(s.Answer, "\n")
	}
	s.open = false
}

// step prints a node's output: calls of tools, and their results.
func (s *show) step(data []byte) {
	var nodes map[string]struct {
		Messages []message `json:"messages"`
	}
	if json.Unmarshal(data, &nodes) != nil {
		return // an interrupt, which the state contains too
	}
	for _, n := range nodes {
		for _, m := range n.Messages {
			for _, call := range m.ToolCalls {
				s.close()
				fmt.Fprintf(s.Progress, "· %s\n", plain(describe(call.Name, call.Args)))
			}
			if m.Type == "tool" && m.Status == "error" {
				s.close()
				fmt.Fprintf(s.Progress, "  %s failed: %s\n", plain(m.Name), plain(short(m.text())))
			}
		}
	}
}

// describe returns a call in a line.
func describe(name string, args map[string]any) string {
	for _, key := range []string{"description", "query", "url", "command", "path", "question"} {
		if text, ok := args[key].(string); ok && text != "" {
			return name + ": " + short(text)
		}
	}
	return name
}

// maxLine limits a text shown in a line, in characters.
const maxLine = 100

func short(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > maxLine {
		return string(r[:maxLine-1]) + "…"
	}
	return string(r)
}

// plain removes terminal control sequences.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, text)
}

// end shows the answer, or its substitute.
func (s *show) end(r Result) error {
	shown := s.said
	s.close()
	if s.JSON {
		enc := json.NewEncoder(s.Answer)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	answer := r.Answer
	if s.Live {
		answer = plain(answer)
		if shown == r.Answer {
			answer = ""
		}
	}
	if answer != "" && !strings.HasSuffix(answer, "\n") {
		answer += "\n"
	}
	if _, err := io.WriteString(s.Answer, answer); err != nil {
		return err
	}
	for _, q := range r.Questions {
		if q == r.Answer {
			continue
		}
		if _, err := fmt.Fprintln(s.Answer, plain(q)); err != nil {
			return err
		}
	}
	for _, a := range r.Artifacts {
		file := a.File
		if file == "" {
			file = a.Path
		}
		fmt.Fprintf(s.Progress, "file: %s\n", plain(file))
	}
	switch r.Status {
	case Failed:
		fmt.Fprintf(s.Progress, "The run failed: %s\n", plain(r.Error))
	case CutOff:
		fmt.Fprintf(s.Progress, "The answer was cut off: the model reached its limit. Go on with: fawn run --thread %s \"Continue\"\n",
			r.ThreadID)
	case Waiting:
		fmt.Fprintf(s.Progress, "It needs an answer: fawn run --thread %s ANSWER\n", r.ThreadID)
	case TimedOut:
		fmt.Fprintln(s.Progress, "The run took too long and was cancelled.")
	case Cancelled:
		fmt.Fprintln(s.Progress, "The run was cancelled.")
	}
	return nil
}
