package profile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Limits of the files.
const (
	MaxName        = 64       // characters of a name
	MaxDescription = 1000     // characters
	MaxConfig      = 64 << 10 // bytes of a config.yaml
	MaxSoul        = 64 << 10 // bytes of a SOUL.md or a USER.md
	MaxAgents      = 500      // limit per owner
	maxList        = 100      // names in tool_groups or skills
	maxWord        = 128      // bytes of such a name, and of a model's
	maxKnowledge   = 20       // limit of document collections
	maxCollection  = 400      // bytes of the name of one
	maxTokens      = 200_000
	maxTemperature = 2.0
)

// Errors of this package, besides file system errors and *Invalid.
var (
	ErrNotFound = errors.New("no such agent")
	ErrExists   = errors.New("the agent already exists")
	ErrFull     = fmt.Errorf("there are already %d agents, the maximum", MaxAgents)
)

// Invalid is an invalid value of an agent, or its unreadable file.
type Invalid struct {
	Field string // as in config.yaml; "name", "soul", "config" or "content" for other fields
	Why   string
}

// Error reports which field and why.
func (e *Invalid) Error() string { return e.Field + ": " + e.Why }

func invalid(field, format string, args ...any) error {
	return &Invalid{field, fmt.Sprintf(format, args...)}
}

// Agent is a custom agent. Zero fields leave a choice to the run.
type Agent struct {
	Name        string // lower case; also the name of its folder
	Description string
	Model       string
	ToolGroups  []string // nil = all tools; empty = only ungrouped ones
	Skills      []string // nil = all, empty = none
	Knowledge   []string // names of collections of documents
	Temperature *float64
	MaxTokens   *int
	Thinking    *bool
	Effort      string // low, medium, high or ""
	Soul        string // its personality, in Markdown

	Changed time.Time // time of the last change of its files
}

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9-]+$`) })

// Efforts returns the reasoning efforts that an agent may ask for.
func Efforts() []string { return []string{"low", "medium", "high"} }

// reserved are names that mean something else where agents are named.
var reserved = []string{"lead-agent", "default", "fawn", "new", "check", "import"}

// Name returns a name as it is stored, or an *Invalid.
func Name(s string) (string, error) {
	if !nameRule().MatchString(s) || len(s) > MaxName {
		return "", invalid("name", "use 1 to %d letters, digits and hyphens", MaxName)
	}
	s = strings.ToLower(s)
	if slices.Contains(reserved, s) {
		return "", invalid("name", "%q is reserved", s)
	}
	return s, nil
}

// Spelled converts a client's spelling of an agent, such as an assistant id, to a Name: underscores become hyphens. The
// lead agent's names become "".
func Spelled(s string) (string, error) {
	s = strings.ReplaceAll(strings.ToLower(s), "_", "-")
	switch s {
	case "", "lead-agent", "default":
		return "", nil
	}
	return Name(s)
}

// Check returns an *Invalid for the first invalid value, or nil.
func (a Agent) Check() error {
	if n, err := Name(a.Name); err != nil {
		return err
	} else if n != a.Name {
		return invalid("name", "use lower-case letters")
	}
	switch {
	case utf8.RuneCountInString(a.Description) > MaxDescription:
		return invalid("description", "use at most %d characters", MaxDescription)
	case len(a.Model) > maxWord:
		return invalid("model", "use at most %d bytes", maxWord)
	case a.Temperature != nil && !(*a.Temperature >= 0 && *a.Temperature <= maxTemperature):
		return invalid("model_settings.temperature", "use a number from 0 to %g", maxTemperature)
	case a.MaxTokens != nil && (*a.MaxTokens < 1 || *a.MaxTokens > maxTokens):
		return invalid("model_settings.max_tokens", "use a number from 1 to %d", maxTokens)
	case a.Effort != "" && !slices.Contains(Efforts(), a.Effort):
		return invalid("reasoning_effort", "use %s", strings.Join(Efforts(), ", "))
	}
	for field, list := range map[string][]string{"tool_groups": a.ToolGroups, "skills": a.Skills} {
		if len(list) > maxList {
			return invalid(field, "use at most %d names", maxList)
		}
		for _, s := range list {
			if s == "" || len(s) > maxWord ||
				strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
				return invalid(field, "a name has 1 to %d bytes and no spaces", maxWord)
			}
		}
	}
	if len(a.Knowledge) > maxKnowledge {
		return invalid("knowledge", "use at most %d names", maxKnowledge)
	}
	for _, s := range a.Knowledge {
		if strings.TrimSpace(s) == "" || len(s) > maxCollection || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return invalid("knowledge", "a name has 1 to %d bytes, in one line", maxCollection)
		}
	}
	return checkText("soul", a.Soul)
}

func checkText(field, s string) error {
	switch {
	case len(s) > MaxSoul:
		return invalid(field, "use at most %d KiB", MaxSoul>>10)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return invalid(field, "this is not text in UTF-8")
	}
	return nil
}
