package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// parse reads an agent from a config.yaml. Unknown keys are ignored.
func parse(data []byte) (Agent, error) {
	var a Agent
	top, err := tree(data)
	if err != nil {
		return a, err
	}
	r := reader{}
	for key, v := range pairs(top) {
		switch key {
		case "name":
			a.Name = r.text(key, v)
		case "description":
			a.Description = r.text(key, v)
		case "model":
			a.Model = r.text(key, v)
		case "reasoning_effort":
			a.Effort = r.text(key, v)
		case "tool_groups":
			a.ToolGroups = r.list(key, v)
		case "skills":
			a.Skills = r.list(key, v)
		case "knowledge":
			a.Knowledge = r.list(key, v)
		case "thinking_enabled":
			a.Thinking = scalar[bool](&r, key, v, "true or false")
		case "model_settings":
			if isNull(v) {
				continue
			}
			if v.Kind != yaml.MappingNode {
				r.fail(key, v, "a section with temperature and max_tokens")
				continue
			}
			for key, v := range pairs(v) {
				switch key {
				case "temperature":
					a.Temperature = scalar[float64](&r, key, v, "a number")
				case "max_tokens":
					a.MaxTokens = scalar[int](&r, key, v, "a whole number")
				}
			}
		}
	}
	return a, r.err
}

// tree returns the mapping at the top of a file; one without keys when the file is empty.
func tree(data []byte) (*yaml.Node, error) {
	if len(data) > MaxConfig {
		return nil, invalid("config", "config.yaml is larger than %d KiB", MaxConfig>>10)
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read config.yaml: %w", err)
	}
	var doc yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, badYAML(err)
	case len(doc.Content) == 0 || isNull(doc.Content[0]):
	case doc.Content[0].Kind != yaml.MappingNode:
		return nil, invalid("config", "config.yaml must hold keys and values, as in \"model: gpt-5\"")
	default:
		seen := map[string]bool{}
		for i, k := range doc.Content[0].Content {
			if i%2 == 0 && seen[k.Value] {
				return nil, invalid("config", "config.yaml, line %d: the key %s is there twice", k.Line, k.Value)
			}
			seen[k.Value] = seen[k.Value] || i%2 == 0
		}
		return doc.Content[0], nil
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}, nil
}

func badYAML(err error) error {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return invalid("config", "config.yaml is not valid YAML: %s", err)
	}
	line := load.Mark.Line
	if line == 0 {
		line = load.ContextMark.Line
	}
	return invalid("config", "config.yaml, line %d: %s", line, load.Message)
}

// pairs returns the keys of a mapping with their values.
func pairs(n *yaml.Node) func(func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// reader reads values of a file and keeps the first error.
type reader struct{ err error }

func (r *reader) fail(key string, n *yaml.Node, want string) {
	if r.err == nil {
		r.err = invalid(key, "config.yaml, line %d: %s must be %s", n.Line, key, want)
	}
}

func (r *reader) text(key string, n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		r.fail(key, n, "text")
		return ""
	}
	if isNull(n) {
		return ""
	}
	return n.Value
}

func (r *reader) list(key string, n *yaml.Node) []string {
	if isNull(n) {
		return nil
	}
	out := []string{}
	if n.Kind != yaml.SequenceNode {
		r.fail(key, n, "a list of names")
		return out
	}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || isNull(item) {
			r.fail(key, item, "a list of names")
			return out
		}
		out = append(out, item.Value)
	}
	return out
}

func scalar[T bool | int | float64](r *reader, key string, n *yaml.Node, want string) *T {
	var v T
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.ScalarNode || n.Decode(&v) != nil {
		r.fail(key, n, want)
		return nil
	}
	return &v
}

// encode returns the config.yaml of an agent. Comments and unknown keys of the old one are kept.
func encode(old []byte, a Agent) ([]byte, error) {
	top, err := tree(old)
	if err != nil {
		return nil, err
	}
	put(top, "name", text(a.Name))
	put(top, "description", text(a.Description))
	put(top, "model", text(a.Model))
	put(top, "tool_groups", names(a.ToolGroups))
	put(top, "skills", names(a.Skills))
	put(top, "knowledge", names(a.Knowledge))
	settings := get(top, "model_settings")
	if settings == nil || settings.Kind != yaml.MappingNode {
		settings = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	var temperature, tokens, thinking *yaml.Node
	if a.Temperature != nil {
		temperature = plain("!!float", strconv.FormatFloat(*a.Temperature, 'f', -1, 64))
	}
	if a.MaxTokens != nil {
		tokens = plain("!!int", strconv.Itoa(*a.MaxTokens))
	}
	if a.Thinking != nil {
		thinking = plain("!!bool", strconv.FormatBool(*a.Thinking))
	}
	put(settings, "temperature", temperature)
	put(settings, "max_tokens", tokens)
	if len(settings.Content) == 0 {
		settings = nil
	}
	put(top, "model_settings", settings)
	put(top, "thinking_enabled", thinking)
	put(top, "reasoning_effort", text(a.Effort))
	var out bytes.Buffer
	dumper, err := yaml.NewDumper(&out)
	if err == nil {
		err = dumper.Dump(top)
	}
	if err == nil {
		err = dumper.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("write config.yaml: %w", err)
	}
	if out.Len() > MaxConfig {
		return nil, invalid("config", "config.yaml would be larger than %d KiB", MaxConfig>>10)
	}
	return out.Bytes(), nil
}

func get(top *yaml.Node, key string) *yaml.Node {
	for k, v := range pairs(top) {
		if k == key {
			return v
		}
	}
	return nil
}

// put sets a key of a mapping, in place or at the end; nil removes it.
func put(top *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value != key {
			continue
		}
		if v == nil {
			top.Content = append(top.Content[:i:i], top.Content[i+2:]...)
			return
		}
		old := top.Content[i+1]
		v.LineComment, v.HeadComment, v.FootComment = old.LineComment, old.HeadComment, old.FootComment
		top.Content[i+1] = v
		return
	}
	if v != nil {
		top.Content = append(top.Content, plain("!!str", key), v)
	}
}

func plain(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// text returns a value of text, nil if it is empty.
func text(s string) *yaml.Node {
	if s == "" {
		return nil
	}
	n := plain("!!str", s)
	if strings.Contains(s, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// names returns a list in one line, nil when everything is meant.
func names(list []string) *yaml.Node {
	if list == nil {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, s := range list {
		n.Content = append(n.Content, plain("!!str", s))
	}
	return n
}
