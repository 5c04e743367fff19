package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of stored memory, in bytes.
const (
	MaxContent  = 4000    // limit of a fact
	maxSummary  = 8000    // limit of a summary
	maxLabel    = 64      // limit of a category's name
	maxID       = 128     // limit of a fact's id
	maxImported = 10_000  // facts of an imported document
	maxExtra    = 4 << 10 // bytes of a fact's unknown keys
)

// timeLayout is the document's time format.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Document is the memory of one owner as the API shows it.
type Document struct {
	Revision int64
	Updated  time.Time
	Sections map[string]Section // by the names of [SectionNames]
	Facts    []Fact
	Extra    map[string]json.RawMessage // unknown keys
}

// Section is one of the summaries.
type Section struct {
	Summary string `json:"summary"`
	Updated string `json:"updatedAt"`
}

// SectionNames returns the summaries in the order they are shown, each below user or history.
func SectionNames() []string {
	return []string{"user.workContext", "user.personalContext", "user.topOfMind",
		"history.recentMonths", "history.earlierContext", "history.longTermBackground"}
}

// Fact is one fact about a person.
type Fact struct {
	ID         string
	Content    string
	Category   string
	Confidence float64 // 0 to 1
	Source     string  // the thread it was said in, Manual or Imported
	Message    string  // id of the message in that thread
	Avoid      string  // of a correction: the wrong statement
	ValidDays  int     // expected validity; 0 = as the rules say
	Agent      string  // the agent it belongs to; "" is the lead agent
	Revision   int64   // the document's at its last change
	Created    time.Time
	Updated    time.Time
	Extra      map[string]json.RawMessage // unknown keys
}

// Sources of facts that aren't from a thread.
const (
	Manual   = "manual"
	Imported = "import"
)

// Thread returns the thread a fact was said in, or "".
func (f *Fact) Thread() string {
	if f.Source == Manual || f.Source == Imported || f.Source == "consolidation" {
		return ""
	}
	return f.Source
}

// Category names that mean something to the rules.
const (
	CategoryCorrection = "correction"
	CategoryDefault    = "context"
)

// Categories returns the usual ones; others are allowed.
func Categories() []string {
	return []string{"preference", "knowledge", CategoryDefault, "behavior", "goal", CategoryCorrection}
}

// DocumentError describes an invalid document.
type DocumentError struct{ Field, Why string }

// Error names the field.
func (e *DocumentError) Error() string { return e.Field + " " + e.Why }

// factJSON is a fact without its unknown keys.
type factJSON struct {
	ID         string   `json:"id"`
	Content    string   `json:"content"`
	Category   string   `json:"category"`
	Confidence *float64 `json:"confidence"`
	Created    string   `json:"createdAt"`
	Source     string   `json:"source"`
	Message    string   `json:"sourceMessage,omitempty"`
	Avoid      string   `json:"sourceError,omitempty"`
	ValidDays  int      `json:"expected_valid_days,omitempty"`
	Updated    string   `json:"updatedAt,omitempty"`
	Revision   int64    `json:"revision,omitempty"`
}

func factKeys() []string {
	return []string{"id", "content", "category", "confidence", "createdAt", "source", "sourceMessage", "sourceError",
		"expected_valid_days", "updatedAt", "revision"}
}

// MarshalJSON implements json.Marshaler.
func (f Fact) MarshalJSON() ([]byte, error) {
	j := factJSON{f.ID, f.Content, f.Category, &f.Confidence, stamp(f.Created), f.Source, f.Message, f.Avoid,
		f.ValidDays, "", f.Revision}
	if !f.Updated.Equal(f.Created) {
		j.Updated = stamp(f.Updated)
	}
	return withExtra(j, f.Extra)
}

// MarshalJSON implements json.Marshaler: the shape of DeerFlow's memory.json.
func (d Document) MarshalJSON() ([]byte, error) {
	groups := map[string]map[string]Section{"user": {}, "history": {}}
	for _, name := range SectionNames() {
		group, key, _ := strings.Cut(name, ".")
		groups[group][key] = d.Sections[name]
	}
	facts := d.Facts
	if facts == nil {
		facts = []Fact{}
	}
	return withExtra(struct {
		Version  string             `json:"version"`
		Revision int64              `json:"revision"`
		Updated  string             `json:"lastUpdated"`
		User     map[string]Section `json:"user"`
		History  map[string]Section `json:"history"`
		Facts    []Fact             `json:"facts"`
	}{"1.0", d.Revision, stamp(d.Updated), groups["user"], groups["history"], facts}, d.Extra)
}

// withExtra returns v as an object with extra keys appended.
func withExtra(v any, extra map[string]json.RawMessage) ([]byte, error) {
	b, err := encode(v)
	if err != nil || len(extra) == 0 {
		return b, err
	}
	more, err := encode(extra)
	if err != nil {
		return nil, err
	}
	return slices.Concat(b[:len(b)-1], []byte(","), more[1:]), nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Parse parses a document of this package, or a memory.json of DeerFlow's. Missing parts are empty. Errors are
// *DocumentError.
func Parse(data []byte) (Document, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		return Document{}, &DocumentError{"The document", "must be a JSON object" + place(data, err)}
	}
	d := Document{Sections: map[string]Section{}, Extra: map[string]json.RawMessage{}}
	for key, v := range raw {
		switch key {
		case "version", "revision", "lastUpdated":
		case "user", "history":
			if err := d.parseGroup(key, v); err != nil {
				return Document{}, err
			}
		case "facts":
			if err := d.parseFacts(v); err != nil {
				return Document{}, err
			}
		default:
			d.Extra[key] = v
		}
	}
	if b, err := encode(d.Extra); err != nil || len(b) > maxExtra {
		return Document{}, &DocumentError{"The document", "has too much in keys that aren't known"}
	}
	return d, nil
}

// place returns the line where JSON breaks off.
func place(data []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
	return fmt.Sprintf(" (line %d: %v)", line, err)
}

func (d *Document) parseGroup(group string, raw json.RawMessage) error {
	var sections map[string]*struct {
		Summary string `json:"summary"`
		Updated string `json:"updatedAt"`
	}
	if err := json.Unmarshal(raw, &sections); err != nil {
		return &DocumentError{group, "must hold objects with a summary"}
	}
	for key, s := range sections {
		name := group + "." + key
		if s == nil || !slices.Contains(SectionNames(), name) {
			continue
		}
		if len(s.Summary) > maxSummary {
			return &DocumentError{name, fmt.Sprintf("is longer than %d bytes", maxSummary)}
		}
		updated := ""
		if at := moment(s.Updated); !at.IsZero() {
			updated = stamp(at)
		}
		d.Sections[name] = Section{clean(s.Summary), updated}
	}
	return nil
}

func (d *Document) parseFacts(raw json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return &DocumentError{"facts", "must be a list"}
	}
	if len(list) > maxImported {
		return &DocumentError{"facts", fmt.Sprintf("has more than %d entries", maxImported)}
	}
	seen := map[string]bool{}
	for i, raw := range list {
		f, err := parseFact(raw)
		var bad *DocumentError
		if errors.As(err, &bad) {
			return &DocumentError{fmt.Sprintf("facts[%d].%s", i, bad.Field), bad.Why}
		}
		if f.ID == "" || seen[f.ID] {
			f.ID = newID()
		}
		seen[f.ID] = true
		d.Facts = append(d.Facts, f)
	}
	return nil
}

func parseFact(raw json.RawMessage) (Fact, error) {
	var j factJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return Fact{}, &DocumentError{wrong.Field, "can't be a " + wrong.Value}
		}
		return Fact{}, &DocumentError{"fact", "must be an object"}
	}
	f := Fact{ID: j.ID, Content: j.Content, Category: j.Category, Confidence: 0.5, Source: j.Source, Message: j.Message,
		Avoid:     clean(j.Avoid),
		ValidDays: max(0, min(j.ValidDays, maxDays)), Created: moment(j.Created), Updated: moment(j.Updated),
		Extra: map[string]json.RawMessage{}}
	if j.Confidence != nil {
		f.Confidence = *j.Confidence
	}
	if err := f.check(); err != nil {
		return Fact{}, err
	}
	if err := json.Unmarshal(raw, &f.Extra); err != nil {
		return Fact{}, &DocumentError{"fact", "must be an object"}
	}
	for _, key := range factKeys() {
		delete(f.Extra, key)
	}
	if b, err := encode(f.Extra); err != nil || len(b) > maxExtra {
		return Fact{}, &DocumentError{"fact", "has too much in keys that aren't known"}
	}
	return f, nil
}

// check rejects invalid values and normalizes others.
func (f *Fact) check() error {
	f.Content, f.Category = clean(f.Content), strings.ToLower(clean(f.Category))
	switch {
	case f.Content == "":
		return &DocumentError{"content", "must not be blank"}
	case len(f.Content) > MaxContent:
		return &DocumentError{"content", fmt.Sprintf("is longer than %d bytes", MaxContent)}
	case len(f.Category) > maxLabel:
		return &DocumentError{"category", fmt.Sprintf("is longer than %d bytes", maxLabel)}
	case math.IsNaN(f.Confidence) || f.Confidence < 0 || f.Confidence > 1:
		return &DocumentError{"confidence", "must be between 0 and 1"}
	case len(f.ID) > maxID || strings.ContainsAny(f.ID, "/\n\x00"):
		return &DocumentError{"id", "isn't one"}
	case len(f.Source) > maxID, len(f.Message) > maxID:
		return &DocumentError{"source", fmt.Sprintf("is longer than %d bytes", maxID)}
	case len(f.Avoid) > MaxContent:
		return &DocumentError{"sourceError", fmt.Sprintf("is longer than %d bytes", MaxContent)}
	}
	if f.Category == "" {
		f.Category = CategoryDefault
	}
	return nil
}

// clean returns a text as one line without control characters.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\x00", "")), " ")
}

// folded normalizes a text for comparing statements.
func folded(s string) string { return strings.ToLower(clean(s)) }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

// moment parses the documents' time formats; others are the zero time.
func moment(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1970 && t.Year() < 9999 {
			return t.UTC()
		}
	}
	return time.Time{}
}
