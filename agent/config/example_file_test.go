package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"

	"go.yaml.in/yaml/v4"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/config.md")

const examplePath, docsPath = "../../config.example.yaml", "../../docs/config.md"

func example(t *testing.T) string {
	t.Helper()
	b := must.Get(os.ReadFile(examplePath))(t)
	return string(b)
}

// uncommented takes the first # from every line that sets a key.
func uncommented(text string) string {
	return regexp.MustCompile(`(?m)^( *)#([^#])`).ReplaceAllString(text, "$1$2")
}

func loadText(t *testing.T, text string) *config.Snapshot {
	t.Helper()
	o, _ := setup(t, files{"config.yaml": text}, nil)
	o.LookupEnv = func(name string) (string, bool) {
		return "set", strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_SECRET")
	}
	s := must.Get(config.Load(o))(t)
	for _, w := range s.Warnings {
		if !strings.Contains(w.Message, " has no effect: ") {
			t.Errorf("warning: %s", w)
		}
	}
	for _, d := range s.Disabled {
		t.Errorf("disabled: %s", d)
	}
	return s
}

func TestExampleAsItIsChangesNothing(t *testing.T) {
	if got := loadText(t, example(t)).File; !reflect.DeepEqual(got, config.Default()) {
		t.Errorf("got %+v", got)
	}
}

func TestExampleShowsTheDefaults(t *testing.T) {
	f := loadText(t, uncommented(example(t))).File
	if len(f.Models) != 3 || len(f.Tools) != 2 || len(f.ACPAgents) != 1 || len(f.Auth.OIDC.Providers) != 1 ||
		len(f.Sandbox.Mounts) != 1 {
		t.Errorf("the example entries are missing: %+v", f)
	}
	// What the file shows as an example instead of as a default.
	f.Models, f.Tools, f.ACPAgents, f.Auth.OIDC.Providers = nil, nil, nil, nil
	f.ToolOutput.Tools, f.Sandbox.Mounts, f.Sandbox.Environment = nil, nil, nil
	f.Subagents.Agents, f.Subagents.CustomAgents, f.LoopDetection.Tools = nil, nil, nil
	want := reflect.ValueOf(config.Default())
	for i := range want.NumField() {
		got, want, name := reflect.ValueOf(f).Field(i), want.Field(i), want.Type().Field(i).Name
		if !equal(got, want) {
			t.Errorf("%s: the file shows %+v, the default is %+v", name, got, want)
		}
	}
}

// equal is reflect.DeepEqual with nil and empty lists alike.
func equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Map:
		if a.Len() == 0 && b.Len() == 0 {
			return true
		}
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

func TestExampleNamesEveryKey(t *testing.T) {
	var doc map[string]any
	must.Do(t, yaml.Load([]byte(uncommented(example(t))), &doc))
	var missing []string
	walk(reflect.TypeFor[config.File](), []any{doc}, "", &missing)
	if len(missing) > 0 {
		t.Errorf("not in the example: %s", strings.Join(missing, ", "))
	}
}

// TestKeysWithoutEffectLoadAndAreTold: each once, whatever its value, and not at all where the value is what Fawn does.
func TestKeysWithoutEffectLoadAndAreTold(t *testing.T) {
	for _, ig := range config.IgnoredKeys() {
		for _, value := range []string{"{some: [deep, {value: 1}]}", "[a]", "text", "-1"} {
			key := strings.ReplaceAll(ig.Key, "*", "some")
			told := warnings(t, key, value)
			if slices.Contains(ig.Fine, "*") {
				if len(told) > 0 {
					t.Errorf("%s: %s is told: %v", key, value, told)
				}
			} else if want := key + " has no effect: " + ig.Reason; len(told) != 1 || told[0] != want {
				t.Errorf("%s: %s is told as %v, want %q", key, value, told, want)
			}
		}
		for _, value := range append(ig.Fine, "null", "{}", "[]") {
			if key := strings.ReplaceAll(ig.Key, "*", "some"); value != "*" {
				if told := warnings(t, key, value); len(told) > 0 {
					t.Errorf("%s: %s is told: %v", key, value, told)
				}
			}
		}
	}
}

// warnings loads a file that sets one key.
func warnings(t *testing.T, key, value string) (told []string) {
	t.Helper()
	text := value
	parts := strings.Split(key, ".")
	for _, part := range slices.Backward(parts) {
		text = "{" + part + ": " + text + "}"
	}
	if parts[0] == "models" {
		text = "{models: [{name: some, " + parts[2] + ": " + value + "}]}"
	}
	for _, w := range load(t, files{"config.yaml": text + "\n"}, nil).Warnings {
		told = append(told, w.Message)
	}
	return told
}

// TestIgnoredKeysAreFoundWhereTheyMayStand: one level higher, under another name of the section, and of a variable
// that isn't set.
func TestIgnoredKeysAreFoundWhereTheyMayStand(t *testing.T) {
	s := load(t, files{
		"config.yaml":            "memory: {token_counting: char}\nsandbox: {provisioner_api_key: $NOT_SET}\nrun_events:\ncheckpointer: 5\n",
		"extensions_config.json": `{"mcp_servers": {"a": {"command": "x", "task_toolsets": [1]}, "b": {"command": "x", "task_toolsets": [1]}}}`,
	}, nil)
	var got []string
	for _, w := range s.Warnings {
		key, _, _ := strings.Cut(w.Message, " has no effect: ")
		got = append(got, key)
	}
	slices.Sort(got)
	if want := "checkpointer, mcp_servers.a.task_toolsets, memory.token_counting, sandbox.provisioner_api_key"; strings.Join(got, ", ") != want {
		t.Errorf("told %q, want %q", strings.Join(got, ", "), want)
	}
}

func TestSecretsOfIgnoredKeysStaySecret(t *testing.T) {
	s := load(t, files{"config.yaml": "sandbox: {provisioner_api_key: $P}\nstream_bridge: {redis_url: 'redis://:r@h'}\ncheckpointer: {connection_string: dsn}\nagent_storage: {api_key: k}\n"},
		map[string]string{"P": "provisioner"})
	for _, want := range []string{"provisioner", "redis://:r@h", "dsn", "k"} {
		if !slices.Contains(s.SecretValues(), want) {
			t.Errorf("%s is not among the secrets", want)
		}
	}
}

// TestExampleLeavesOutWhatHasNoEffect, which docs/config.md lists.
func TestExampleLeavesOutWhatHasNoEffect(t *testing.T) {
	rows := keyTables(example(t))
	for _, ig := range config.IgnoredKeys() {
		key := strings.NewReplacer(`\.\*\.`, `\.(?:[^.]+\.)?`, `\.\*`, "").Replace(regexp.QuoteMeta(ig.Key))
		if row := regexp.MustCompile("(?m)^\\| `" + key + "` .*$").FindString(rows); row != "" {
			t.Errorf("config.example.yaml shows a key without effect: %s", row)
		}
	}
}

// walk looks for every key of a struct in at least one of the places where it can stand.
func walk(typ reflect.Type, places []any, path string, missing *[]string) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map && typ.Name() == "" {
		var inside []any
		for _, p := range places {
			switch p := p.(type) {
			case []any:
				inside = append(inside, p...)
			case map[string]any:
				if typ.Kind() != reflect.Map {
					inside = append(inside, p)
					continue
				}
				for _, v := range p {
					inside = append(inside, v)
				}
			}
		}
		typ, places = typ.Elem(), inside
	}
	if typ.Kind() != reflect.Struct {
		return
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		var inside []any
		found := false
		for _, p := range places {
			if m, ok := p.(map[string]any); ok {
				v, has := m[name]
				found = found || has
				inside = append(inside, v)
			}
		}
		if !found {
			*missing = append(*missing, path+name)
			continue
		}
		walk(f.Type, inside, path+name+".", missing)
	}
}

// keyTables turns the example into one table per section. Its comments are the explanations.
func keyTables(text string) string {
	line := regexp.MustCompile(`^( *)(?:- )?([A-Za-z_][\w-]*):(?: +([^ #].*?))?(?: +# (.*))?$`)
	var b strings.Builder
	var path []string
	var indents []int
	open := false
	for _, l := range strings.Split(uncommented(text), "\n") {
		if title, ok := strings.CutPrefix(l, "## "); ok && strings.HasSuffix(l, "---") {
			b.WriteString("\n### " + strings.TrimRight(title, " -") + "\n")
			open = false
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		indent := len(m[1])
		if strings.HasPrefix(strings.TrimLeft(l, " "), "- ") {
			indent += 2
		}
		for len(indents) > 0 && indents[len(indents)-1] >= indent {
			path, indents = path[:len(path)-1], indents[:len(indents)-1]
		}
		path, indents = append(path, m[2]), append(indents, indent)
		if m[4] == "" {
			continue
		}
		if !open {
			b.WriteString("\n| key | value in the example | meaning |\n|---|---|---|\n")
			open = true
		}
		value := m[3]
		if value != "" {
			value = "`" + strings.ReplaceAll(value, "|", `\|`) + "`"
		}
		b.WriteString("| `" + strings.Join(path, ".") + "` | " + value + " | " +
			strings.ReplaceAll(m[4], "|", `\|`) + " |\n")
	}
	return b.String()
}

// ignoredTable lists the keys that have no effect.
func ignoredTable() string {
	var b strings.Builder
	b.WriteString("\n### Keys without effect\n\nThey are accepted whatever their value; setting one is reported at start, by `fawn doctor` and in the settings.\n" +
		"`*` stands for any name, or for every key of a section.\n\n| key | reason |\n|---|---|\n")
	for _, ig := range config.IgnoredKeys() {
		b.WriteString("| `" + ig.Key + "` | " + ig.Reason)
		if slices.Contains(ig.Fine, "*") {
			b.WriteString("; accepted without a warning")
		} else if len(ig.Fine) > 0 {
			b.WriteString("; `" + strings.Join(ig.Fine, "`, `") + "` is accepted without a warning")
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

func TestDocsListTheExample(t *testing.T) {
	b := must.Get(os.ReadFile(docsPath))(t)
	const mark = "<!-- the rest is written by go test ./agent/config -run Docs -update -->\n"
	head, tail, ok := strings.Cut(string(b), mark)
	if !ok {
		t.Fatalf("%s has no line %s", docsPath, mark)
	}
	want := keyTables(example(t)) + ignoredTable()
	if *update {
		must.Do(t, os.WriteFile(docsPath, []byte(head+mark+want), 0o644))
		return
	}
	if tail != want {
		t.Errorf("%s is out of date; run go test ./agent/config -run Docs -update", filepath.Base(docsPath))
	}
	for _, key := range config.RestartKeys() {
		if !strings.Contains(head, "`"+key+"`") {
			t.Errorf("%s does not say that %s needs a restart", filepath.Base(docsPath), key)
		}
	}
	for _, name := range []string{"FAWN_CONFIG", "DEER_FLOW_CONFIG_PATH", "FAWN_HOME", "DEER_FLOW_HOME",
		"DEER_FLOW_EXTENSIONS_CONFIG_PATH", "DEER_FLOW_SKILLS_PATH", "DEERFLOW_WRITE_FILE_MAX_BYTES",
		"GATEWAY_CORS_ORIGINS", "POSTGRES_URI"} {
		if !slices.Contains(strings.FieldsFunc(head,
			func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') }), name) {
			t.Errorf("%s does not explain %s", filepath.Base(docsPath), name)
		}
	}
}
