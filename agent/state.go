package agent

import (
	"errors"
	"fmt"
	"slices"
)

// State is the data a thread keeps between steps. It is its own patch type: a nil field means "not written", an empty
// one means "cleared", as omitzero encodes them.
type State struct {
	Messages      []*Message       `json:"messages,omitzero"`
	Title         *string          `json:"title,omitzero"`
	Artifacts     []string         `json:"artifacts,omitzero"` // virtual paths, first occurrence first
	Todos         []Todo           `json:"todos,omitzero"`
	Sandbox       *SandboxRef      `json:"sandbox,omitzero"`
	ThreadData    *ThreadData      `json:"thread_data,omitzero"`
	UploadedFiles []Upload         `json:"uploaded_files,omitzero"`
	ViewedImages  map[string]Image `json:"viewed_images,omitzero"`
	Goal          *Goal            `json:"goal,omitzero"`
	Promoted      *Promoted        `json:"promoted,omitzero"`
	Delegations   []Delegation     `json:"delegations,omitzero"`
	SkillContext  []SkillRef       `json:"skill_context,omitzero"`
	SummaryText   *string          `json:"summary_text,omitzero"`
	Background    []BackgroundTask `json:"background_tasks,omitzero"`

	// Told lists the files the model was told about, independent of the client's UploadedFiles.
	Told []ToldFile `json:"-"`

	// Edited lists changes of the plan by a person that the model hasn't been told about.
	Edited []PlanEdit `json:"-"`

	// Notes and View shape the request; no API exposes them as values.
	Notes []Note `json:"-"`
	View  *View  `json:"-"`

	index map[string]int // message id -> position; only Apply touches it
}

// Limits of the bounded ledgers.
const (
	MaxDelegations  = 50
	MaxSkillContext = 8
)

// Errors of [State.Apply] and [ParsePatch]; the state is untouched when one is returned.
var (
	ErrUnknownMessage = errors.New("unknown message id")
	ErrSandboxChanged = errors.New("sandbox id cannot change")
	ErrPatch          = errors.New("invalid state patch")
)

// Apply writes a patch through the reducers, one line a field. It appends to s.Messages in place: s belongs to one
// goroutine, and its slices must be clipped before they are shared.
func (s *State) Apply(p State) error {
	if err := sameSandbox(s.Sandbox, p.Sandbox); err != nil {
		return err
	}
	images := mergeOrClear(s.ViewedImages, p.ViewedImages)
	if err := boundedImages(images); err != nil {
		return err
	}
	if err := s.addMessages(p.Messages); err != nil {
		return err
	}
	s.Title = last(s.Title, p.Title)
	s.Artifacts = union(s.Artifacts, p.Artifacts)
	s.Todos = lastSlice(s.Todos, p.Todos)
	s.Sandbox = keepSandbox(s.Sandbox, p.Sandbox)
	s.ThreadData = last(s.ThreadData, p.ThreadData)
	s.UploadedFiles = lastSlice(s.UploadedFiles, p.UploadedFiles)
	s.ViewedImages = images
	s.Goal = last(s.Goal, p.Goal)
	s.Promoted = promote(s.Promoted, p.Promoted)
	s.Delegations = delegate(s.Delegations, p.Delegations)
	s.SkillContext = byKey(s.SkillContext, p.SkillContext, MaxSkillContext, func(r SkillRef) string { return r.Path })
	s.SummaryText = last(s.SummaryText, p.SummaryText)
	s.Background = lastSlice(s.Background, p.Background)
	s.Told = lastSlice(s.Told, p.Told)
	s.Edited = lastSlice(s.Edited, p.Edited)
	s.Notes = addNotes(s.Notes, p.Notes)
	s.View = last(s.View, p.View)
	return nil
}

// maxSentImages limits the images that clients write into a state, in bytes of base64.
const maxSentImages = 32 << 20

func boundedImages(images map[string]Image) error {
	n := 0
	for _, img := range images {
		n += len(img.Base64)
	}
	if n > maxSentImages {
		return fmt.Errorf("%w: viewed_images would hold more than %d MiB of base64; {} clears them", ErrPatch,
			maxSentImages>>20)
	}
	return nil
}

// Join appends patch b to patch a as one write of the same step. A patch can't express "clear, then add": if a clears a
// list and b writes it, only b's entries remain.
func Join(a, b State) (State, error) {
	msgs := slices.Concat(a.Messages, b.Messages)
	a.Messages, b.Messages = nil, nil
	if err := a.Apply(b); err != nil {
		return State{}, err
	}
	a.Messages = msgs
	return a, nil
}

// Empty reports whether a patch writes nothing.
func (s *State) Empty() bool {
	for _, f := range Fields {
		if f.set(s) {
			return false
		}
	}
	return s.Messages == nil
}

// addMessages is LangGraph's add_messages: a known id replaces in place, a new one is
// appended, a removal deletes. Work is independent of the thread's length unless something
// is removed.
func (s *State) addMessages(patch []*Message) error {
	if len(patch) == 0 {
		return nil
	}
	if i := slices.IndexFunc(patch, func(m *Message) bool { return m == nil || m.ID == "" }); i >= 0 {
		return fmt.Errorf("%w: messages[%d] has no id", ErrPatch, i)
	}
	if from := lastRemoveAll(patch); from >= 0 {
		fresh := State{}
		if err := fresh.addMessages(patch[from+1:]); err != nil {
			return err
		}
		s.Messages, s.index = fresh.Messages, fresh.index
		if s.Messages == nil {
			s.Messages = []*Message{}
		}
		return nil
	}
	s.reindex(false)
	if slices.ContainsFunc(patch, func(m *Message) bool { return m.Type == TypeRemove }) {
		return s.rewrite(patch)
	}
	cloned := false
	for _, m := range patch {
		if i, ok := s.index[m.ID]; ok {
			if !cloned { // readers may hold the old slice
				s.Messages, cloned = slices.Clone(s.Messages), true
			}
			s.Messages[i] = m
			continue
		}
		s.index[m.ID] = len(s.Messages)
		s.Messages = append(s.Messages, m)
	}
	return nil
}

func (s *State) rewrite(patch []*Message) error {
	msgs, index := slices.Clone(s.Messages), make(map[string]int, len(s.Messages))
	for i, m := range msgs {
		index[m.ID] = i
	}
	for _, m := range patch {
		i, known := index[m.ID]
		switch {
		case m.Type == TypeRemove && !known:
			return fmt.Errorf("remove message %s: %w", m.ID, ErrUnknownMessage)
		case m.Type == TypeRemove:
			msgs[i] = nil
			delete(index, m.ID)
		case known:
			msgs[i] = m
		default:
			index[m.ID] = len(msgs)
			msgs = append(msgs, m)
		}
	}
	s.Messages = slices.DeleteFunc(msgs, func(m *Message) bool { return m == nil })
	s.reindex(true)
	return nil
}

// reindex builds the id index when it is missing or force is set.
func (s *State) reindex(force bool) {
	if !force && s.index != nil && len(s.index) == len(s.Messages) {
		return
	}
	s.index = make(map[string]int, len(s.Messages)+8)
	for i, m := range s.Messages {
		s.index[m.ID] = i
	}
}

func lastRemoveAll(patch []*Message) int {
	for i, m := range slices.Backward(patch) {
		if m.Type == TypeRemove && m.ID == RemoveAll {
			return i
		}
	}
	return -1
}

// Message finds a message by id, or nil. It only reads, as parallel tools do.
func (s *State) Message(id string) *Message {
	if len(s.index) == len(s.Messages) {
		if i, ok := s.index[id]; ok {
			return s.Messages[i]
		}
		return nil
	}
	for _, m := range s.Messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// Clone copies s for another goroutine: slices are clipped, messages are immutable and shared.
func (s *State) Clone() State {
	c := *s
	c.index = nil
	c.Messages = slices.Clip(s.Messages)
	c.Artifacts = slices.Clip(s.Artifacts)
	c.Notes = slices.Clip(s.Notes)
	return c
}
