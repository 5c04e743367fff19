package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fawn/agent/config"
)

func TestWrongContentIsRefusedWithPlace(t *testing.T) {
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	bomb := "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for i := 'b'; i < 'j'; i++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1,
			i-1, i-1, i-1, i-1)
	}
	tests := []struct{ name, yaml, want string }{
		{"number for text list", "server:\n  hosts: 5\n", "config.yaml:2:10: server.hosts must be a list, not a single value\n      hosts: 5\n             ^"},
		{"text for number", "title:\n  max_words: many\n", `config.yaml:2:14: title.max_words must be a whole number, not "many"`},
		{"out of range", "title:\n  max_words: 50\n", "config.yaml:2:14: title.max_words must be from 1 to 20, not 50"},
		{"too small", "uploads:\n  max_files: 0\n", "config.yaml:2:14: uploads.max_files must be at least 1, not 0"},
		{"not a switch", "memory: {enabled: maybe}\n", `config.yaml:1:19: memory.enabled must be true or false, not "maybe"`},
		{"unknown word", "runs:\n  resume: never\n", `config.yaml:2:11: runs.resume must be one of auto, mark, not "never"`},
		{"not a time", "sandbox:\n  idle_timeout: soon\n", `config.yaml:2:17: sandbox.idle_timeout must be a number of seconds, or a time such as 30s or 10m, not "soon"`},
		{"not a size", "server:\n  max_body_bytes: big\n", `config.yaml:2:19: server.max_body_bytes must be a number of bytes, such as 1048576 or 1MiB, not "big"`},
		{"list for section", "title: [1]\n", "config.yaml:1:8: title must be a mapping, not a list"},
		{"model without name", "models:\n  - use: x\n", `config.yaml:2:5: models[0] needs the key "name"`},
		{"inside a list", "models:\n  - name: a\n    max_tokens: [1]\n", "config.yaml:3:17: models[0].max_tokens must be a single value, not a list"},
		{"infinite", "token_budget:\n  warn_threshold: .inf\n", "config.yaml:2:19: token_budget.warn_threshold must be a number"},
		{"syntax", "title: [1\nmodels: 2\n", "config.yaml:2:7: not valid YAML"},
		{"tab", "title:\n\tmax_words: 3\n", "config.yaml:2:1: not valid YAML"},
		{"duplicate key", "title:\n  enabled: true\n  enabled: false\n", `config.yaml:3:3: the key "enabled" is already given on line 2`},
		{"two documents", "title:\n---\nmodels:\n", "config.yaml:3:1: a second document starts here"},
		{"list as file", "- title\n", "config.yaml:1:1: the file must hold keys and values"},
		{"python object", "title: !!python/object x\n", "config.yaml:1:8: the type !!python/object is not supported here"},
		{"deep", "x: " + deep, "nested more than 64 levels deep"},
		{"alias of itself", "x: &x [*x]", "nested more than 64 levels deep, or an alias contains itself"},
		{"alias bomb", bomb, "the aliases of this file stand for more than 10000 values"},
		{"huge", "# " + strings.Repeat("x", 1<<20), "config.yaml: the file is larger than 1 MiB"},
		{"time zone", "timezone: Mars/Base\n", `config.yaml:1:11: timezone must be a name such as Europe/Berlin, not "Mars/Base"`},
		{"any origin", "server:\n  cors_origins: ['*']\n", `config.yaml:2:18: server.cors_origins must name single origins`},
		{"limits the wrong way round", "loop_detection:\n  hard_limit: 2\n", "config.yaml:2:3: loop_detection.hard_limit (2) must not be below warn_threshold (3)"},
		{"fraction of two", "summarization:\n  keep: {type: fraction, value: 2}\n", "config.yaml:2:9: summarization.keep: a fraction must be from 0 to 1, not 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, _ := setup(t, files{"config.yaml": tt.yaml}, nil)
			s, err := config.Load(o)
			if !errors.Is(err, config.ErrInvalid) || s != nil {
				t.Fatalf("got %v, %v; want ErrInvalid", s, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

func TestAllProblemsAreToldAtOnce(t *testing.T) {
	o, _ := setup(t, files{"config.yaml": "title: {max_words: x, max_chars: y}\nruns: {resume: z}\n"}, nil)
	_, err := config.Load(o)
	var invalid *config.Invalid
	if !errors.As(err, &invalid) || len(invalid.Problems) != 3 {
		t.Fatalf("got %v", err)
	}
}

func TestWrongJSONIsRefusedWithPlace(t *testing.T) {
	tests := []struct{ name, json, want string }{
		{"comma", "{\n  \"skills\": {},\n}", "extensions_config.json:3:1: not valid JSON"},
		{"cut", "{\"skills\": {", "extensions_config.json:1:12: not valid JSON: unexpected end"},
		{"type", "{\n  \"skills\": {\"a\": {\"enabled\": \"x\"}}}", `extensions_config.json:2:31: skills.a.enabled must be true or false, not "x"`},
		{"list", "[]", "extensions_config.json:1:1: the file must hold one JSON object, not a list"},
		{"twice", "{\"skills\": {},\n \"skills\": {}}", `extensions_config.json:2:2: the key "skills" is already given on line 1`},
		{"more", "{} {}", "extensions_config.json:1:4: not valid JSON: invalid character '{' after top-level value"},
		{"deep", `{"x":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + "}", "nested more than 64 levels deep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, _ := setup(t, files{"data/extensions_config.json": tt.json}, nil)
			_, err := config.Load(o)
			if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}
