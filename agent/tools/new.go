package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fawn/agent"

	"github.com/google/jsonschema-go/jsonschema"
)

// New returns a tool whose arguments are the struct A: json tags name them, jsonschema tags explain them, omitempty
// makes them optional. Unknown arguments are ignored. Invalid ones are reported to the model in the result, and run
// isn't called; "description", the reason of the call, is required by the schema but optional here. An A with its own
// UnmarshalJSON checks for missing arguments itself.
func New[A any](name, group, text string,
	run func(ctx context.Context, t *agent.Turn, args A) (agent.Result, error)) *agent.Tool {
	return newTool(name, group, text,
		func(ctx context.Context, t *agent.Turn, _ agent.ToolCall, args A) (agent.Result, error) {
			return run(ctx, t, args)
		})
}

// NewOfCall is New for a tool that needs its call.
func NewOfCall[A any](name, group, text string,
	run func(ctx context.Context, t *agent.Turn, c agent.ToolCall, args A) (agent.Result, error)) *agent.Tool {
	return newTool(name, group, text, run)
}

// newTool is [NewOfCall].
func newTool[A any](name, group, text string,
	run func(ctx context.Context, t *agent.Turn, c agent.ToolCall, args A) (agent.Result, error)) *agent.Tool {
	tool := &agent.Tool{Name: name, Group: group, Description: strings.TrimSpace(text)}
	schema, required, err := schemaOf[A]()
	if err != nil {
		// Only a mistake in A's declaration gets here; every call reports it.
		err = fmt.Errorf("schema of tool %s: %w", name, err)
		tool.Run = func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
			return agent.Result{}, err
		}
		return tool
	}
	tool.Schema = schema
	tool.Run = func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
		var args A
		if problem := decode(c.Args, &args, required); problem != "" {
			return agent.ErrorResult("Error: " + problem), nil
		}
		return run(ctx, t, c, args)
	}
	return tool
}

// schemaOf describes A in the plain form that every provider takes: no type
// lists with null, and no ban on additional properties.
func schemaOf[A any]() (schema json.RawMessage, required []string, err error) {
	s, err := jsonschema.For[A](nil)
	if err != nil {
		return nil, nil, err
	}
	plain(s)
	b, err := json.Marshal(s)
	return b, s.Required, err
}

func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	s.AdditionalProperties = nil
	plain(s.Items)
	for _, p := range s.Properties {
		plain(p)
	}
}

// decode parses arguments and returns their errors for the model.
func decode(raw json.RawMessage, args any, required []string) (problem string) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return "the arguments are not a valid JSON object"
	}
	if err := json.Unmarshal(raw, args); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return fmt.Sprintf("argument %q must be %s, not %s", wrong.Field, kindName(wrong), wrong.Value)
		}
		return err.Error()
	}
	if _, own := args.(json.Unmarshaler); own {
		return ""
	}
	for _, name := range required {
		if v, ok := given[name]; name != "description" && (!ok || string(v) == "null") {
			return fmt.Sprintf("argument %q is missing", name)
		}
	}
	return ""
}

func kindName(wrong *json.UnmarshalTypeError) string {
	switch k := wrong.Type.Kind().String(); {
	case strings.HasPrefix(k, "int"):
		return "an integer"
	case k == "bool":
		return "true or false"
	case k == "slice":
		return "a list"
	default:
		return "a " + k
	}
}
