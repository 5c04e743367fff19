package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Offline is the name of the built-in model.
const Offline = "offline"

// Mistake is the error for a task that names something missing on the server.
type Mistake struct{ Why string }

func (m *Mistake) Error() string { return m.Why }

// Address returns the root of a server as people write it: a host and port alone means http.
func Address(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", &Mistake{fmt.Sprintf("--server %q is no address of a server, such as http://127.0.0.1:7331", text)}
	}
	return text, nil
}

// check finds out before anything begins whether the server has the model, the collections and the agent that a task names.
// No other model answers in its place.
func (s Server) check(ctx context.Context, t Task) error {
	if err := s.checkModel(ctx, t); err != nil {
		return err
	}
	for _, name := range t.Knowledge {
		if _, err := s.Collection(ctx, name); err != nil {
			if err = unlessRefused(err); err != nil {
				return err
			}
			break // an older server lists none
		}
	}
	if t.Agent == "" {
		return nil
	}
	var agents struct {
		Agents []struct {
			Name string `json:"name"`
		} `json:"agents"`
	}
	if err := s.Call(ctx, http.MethodGet, "/api/agents", nil, &agents); err != nil {
		return unlessRefused(err) // the run reports the problem
	}
	var names []string
	for _, a := range agents.Agents {
		if strings.EqualFold(a.Name, t.Agent) {
			return nil
		}
		names = append(names, a.Name)
	}
	if t.Agent == "lead_agent" {
		return nil
	}
	if len(names) == 0 {
		return &Mistake{fmt.Sprintf("there is no agent %q: there are no custom agents", t.Agent)}
	}
	slices.Sort(names)
	return &Mistake{fmt.Sprintf("there is no agent %q; there are: %s", t.Agent, strings.Join(names, ", "))}
}

// project returns the id of the project with this name or id, ignoring case.
func (s Server) project(ctx context.Context, name string) (string, error) {
	var known struct {
		Projects []struct {
			ID   string `json:"project_id"`
			Name string `json:"name"`
		} `json:"projects"`
	}
	if err := s.Call(ctx, http.MethodGet, "/api/projects", nil, &known); err != nil {
		return "", fmt.Errorf("find the project %q: %w", name, err)
	}
	var names, found []string
	for _, p := range known.Projects {
		if p.ID == name {
			return p.ID, nil
		}
		if strings.EqualFold(p.Name, name) {
			found = append(found, p.ID)
		}
		names = append(names, p.Name)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", &Mistake{fmt.Sprintf("there are %d projects %q; name one by its id: %s", len(found), name,
			strings.Join(found, ", "))}
	case len(names) == 0:
		return "", &Mistake{fmt.Sprintf("there is no project %q: there are no projects", name)}
	}
	return "", &Mistake{fmt.Sprintf("there is no project %q; there are: %s", name, strings.Join(names, ", "))}
}

func (s Server) checkModel(ctx context.Context, t Task) error {
	var known struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
		Disabled []struct{ Name, Reason string } `json:"disabled"`
	}
	if err := s.Call(ctx, http.MethodGet, "/api/models", nil, &known); err != nil {
		return unlessRefused(err)
	}
	var works []string
	for _, m := range known.Models {
		works = append(works, m.Name)
	}
	if t.Model == Offline || slices.Contains(works, t.Model) {
		return nil
	}
	others := "; these work: " + strings.Join(append(works, Offline), ", ")
	for _, d := range known.Disabled {
		if d.Name == t.Model || t.Model == "" && len(works) == 0 {
			return &Mistake{fmt.Sprintf("the model %q can't be used: %s%s", d.Name, d.Reason, others)}
		}
	}
	if t.Model == "" {
		return nil
	}
	return &Mistake{fmt.Sprintf("there is no model %q%s", t.Model, others)}
}

// unlessRefused returns nil for a refusal: servers differ in what they reveal.
func unlessRefused(err error) error {
	var no *Refusal
	if errors.As(err, &no) && no.Status != http.StatusUnauthorized && no.final() {
		return nil
	}
	return err
}

// detail explains why a server refuses a request: a text, or FastAPI's list of places and reasons.
func detail(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	var out []string
	for _, one := range list {
		m, _ := one.(map[string]any)
		msg, ok := m["msg"].(string)
		if !ok {
			out = append(out, fmt.Sprint(one))
			continue
		}
		var at []string
		loc, _ := m["loc"].([]any)
		for i, p := range loc {
			if i > 0 || p != "body" {
				at = append(at, fmt.Sprint(p))
			}
		}
		if len(at) > 0 {
			msg = strings.Join(at, ".") + ": " + msg
		}
		out = append(out, msg)
	}
	return strings.Join(out, "; ")
}
