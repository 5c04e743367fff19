package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"fawn/agent/community"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/web"
	"fawn/web/client"
	"fawn/web/eval"
)

// Evaluation holds the options of fawn eval.
type Evaluation struct {
	Dir    string   // folder of the suite
	Models []string // each answers all questions; none is the configuration's choice
	eval.Options
	// Goals in percent: the least share of citations that hold, and of points that are covered. 0 asks for nothing.
	Citations, Coverage int
	NoForbidden         bool // fail on any forbidden claim
	JSON                bool // print the reports as a list instead of tables
	Verbose             bool // show the log of the server
}

// Evaluate lets agents answer the questions of a suite, on a temporary server whose web is the suite's, and prints the
// quality of the answers. ok is false if a run failed or a goal was missed.
func Evaluate(ctx context.Context, o web.Options, e Evaluation) (ok bool, err error) {
	suite, err := eval.Open(e.Dir)
	if err != nil {
		return false, err
	}
	// Traces contain prompts and answers. secrets.env may set these variables, too, but the environment comes first.
	for _, name := range []string{"LANGFUSE_TRACING", "LANGSMITH_TRACING"} {
		if err := os.Setenv(name, "false"); err != nil {
			return false, err
		}
	}
	dir, err := evalFolder(&o)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out := o.Out
	o.World = &community.World{Search: suite.Web.Search, Pages: suite.Web}
	o.Addr, o.Out = "127.0.0.1:0", io.Discard
	if !e.Verbose {
		o.Log = web.NewLog(io.Discard)
	}
	own := &ownServer{o: o}
	e.Server = client.Server{Client: &http.Client{Transport: &http.Transport{}}}
	if e.Server.URL, err = own.find(ctx); err != nil {
		return false, err
	}
	defer func() {
		e.Server.Client.CloseIdleConnections()
		err = errors.Join(err, own.close())
	}()
	models := e.Models
	if len(models) == 0 {
		models = []string{""}
		if err := e.someModel(ctx); err != nil {
			return false, err
		}
	}
	ok = true
	var reports []*eval.Report
	for _, m := range models {
		one := e.Options
		one.Model = m
		if one.Out == "" {
			one.Out = filepath.Join(e.Dir, "results")
		}
		if len(models) > 1 || e.Out == "" {
			one.Out = filepath.Join(one.Out, fileName(m))
		}
		r, err := eval.Evaluate(ctx, suite, one)
		if err != nil {
			return false, err
		}
		reports = append(reports, r)
		ok = e.met(r.Totals) && ok
		if e.JSON {
			continue
		}
		if err := r.Print(out); err != nil {
			return false, err
		}
		fmt.Fprintf(out, "\n%s\n%s\n", filepath.Join(one.Out, "report.md"), filepath.Join(one.Out, "results.json"))
	}
	if e.JSON {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return ok, enc.Encode(reports)
	}
	return ok, nil
}

// someModel refuses a configuration without a model: the built-in one doesn't search.
func (e Evaluation) someModel(ctx context.Context) error {
	var known struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := e.Server.Call(ctx, http.MethodGet, "/api/models", nil, &known); err != nil {
		return err
	}
	if slices.ContainsFunc(known.Models, func(m struct {
		Name string `json:"name"`
	}) bool {
		return m.Name != client.Offline
	}) {
		return nil
	}
	return &RunMistake{Why: "no model is configured that can do research; add one to models in config.yaml, or name one with --model"}
}

// met reports whether the goals are reached.
func (e Evaluation) met(t eval.Totals) bool {
	reached := func(v *float64, goal int) bool { return goal == 0 || v != nil && *v*100 >= float64(goal)-1e-9 }
	return t.Failed == 0 && reached(t.HeldShare, e.Citations) && reached(t.Coverage, e.Coverage) &&
		(!e.NoForbidden || t.Forbidden == 0)
}

// fileName returns the name of the folder of a model's results. Other characters than these are escaped as in
// addresses, so that no two models share a folder.
func fileName(model string) string {
	switch model {
	case "":
		return "default"
	case "default":
		return "%64efault"
	}
	var b strings.Builder
	for i, c := range []byte(model) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// evalKeys returns the configuration keys used in an evaluation: models, prompts and limits. Keys that connect
// elsewhere (chat apps, MCP servers, other agents, databases, traces) are left out.
func evalKeys() []string {
	return []string{"models", "default_model", "timezone", "max_recursion_limit", "tool_output", "subagents", "summarization",
		"loop_detection", "read_before_write", "safety_finish_reason", "token_usage", "token_budget", "llm_call",
		"circuit_breaker", "skills", "runs"}
}

// evalFolder creates a data folder with the parts needed for an evaluation, and makes o use it: models and limits of
// the configuration, keys, custom agents and skills.
func evalFolder(o *web.Options) (dir string, err error) {
	data, err := config.DataDir(o.Data)
	if err != nil {
		return "", err
	}
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: data, Classes: lead.Classes()})
	if err != nil {
		return "", err
	}
	if snap.File.Sandbox.Provider == "host" {
		return "", &RunMistake{Why: "sandbox.provider is host: commands would reach the network and all files, while an evaluation knows " +
			"its own pages only; set sandbox.provider to auto or off"}
	}
	if dir, err = os.MkdirTemp("", "fawn-eval-*"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("copy the configuration: %w", err), os.RemoveAll(dir))
		}
	}()
	sandboxes := map[string]any{"network": map[string]any{"mode": "none"}}
	conf := map[string]any{}
	for _, from := range []string{snap.ConfigPath, snap.SettingsPath()} {
		if from == "" {
			continue
		}
		all, err := readYAML(from)
		if err != nil {
			return dir, err
		}
		kept := map[string]any{}
		for _, key := range evalKeys() {
			if v, ok := all[key]; ok {
				kept[key] = v
			}
		}
		if from == snap.ConfigPath {
			conf = kept
			if of, ok := all["sandbox"].(map[string]any); ok {
				for k, v := range of {
					if k != "network" && k != "mounts" {
						sandboxes[k] = v
					}
				}
			}
			continue
		}
		if err := writeYAML(filepath.Join(dir, filepath.Base(from)), kept); err != nil {
			return dir, err
		}
	}
	conf["sandbox"] = sandboxes
	conf["web"] = map[string]any{"browser": "off"}
	for _, off := range []string{"browser", "memory", "title", "suggestions"} {
		conf[off] = map[string]any{"enabled": false}
	}
	if err := writeYAML(filepath.Join(dir, "config.yaml"), conf); err != nil {
		return dir, err
	}
	secrets, err := os.ReadFile(snap.SecretsPath())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(snap.SecretsPath())), secrets, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	for _, name := range []string{"agents", "skills"} {
		from := filepath.Join(data, name)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := copyPlain(from, filepath.Join(dir, name)); err != nil {
			return dir, err
		}
	}
	o.Data, o.Config = dir, filepath.Join(dir, "config.yaml")
	return dir, sealed(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
}

// sealed rejects environment variables that would change the configuration to contact more than models.
func sealed(o config.Options) error {
	snap, err := config.Load(o)
	if err != nil {
		return err
	}
	for _, t := range web.TraceTargets(snap) {
		return fmt.Errorf("the environment has traces sent to %s, which an evaluation must not do", t.Name)
	}
	if s := snap.File.Sandbox; s.Provider == "host" || s.Network.Mode != "none" {
		return errors.New("the environment gives commands a network, which an evaluation must not have")
	}
	return nil
}

// copyPlain copies the plain files of a folder.
func copyPlain(from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := root.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), b, 0o600|info.Mode()&0o100) // keep scripts executable
	})
}

func readYAML(name string) (map[string]any, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	out := map[string]any{}
	if err == nil && strings.TrimSpace(string(b)) != "" {
		err = yaml.Unmarshal(b, &out)
	}
	return out, err
}

func writeYAML(name string, v any) error {
	b, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o600)
}
