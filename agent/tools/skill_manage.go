package tools

import (
	"context"
	_ "embed" // the text of the tool
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/agent/skills"
)

// SkillManage is the tool with which agents write skills.
const SkillManage = "skill_manage"

//go:embed skill_manage.md
var skillManageText string

// SkillRules limit an agent's changes of skills.
type SkillRules struct {
	Library *skills.Library
	Allowed []string // names the agent may have; nil allows all
	Scan    bool     // apply the content rules
	// Judge asks a model about a text; whether it is executable matters. An error is a reason to refuse.
	Judge func(ctx context.Context, t *agent.Turn, skill, file, text string, runs bool) (skills.Scan, error)
}

type skillArgs struct {
	Description string `json:"description,omitempty" jsonschema:"why you call this, in a few words"`
	Action      string `json:"action" jsonschema:"create, edit, patch, delete, write_file or remove_file"`
	Name        string `json:"name" jsonschema:"name of the skill: lower-case letters, digits and hyphens"`
	Content     string `json:"content,omitempty" jsonschema:"the whole text, for create, edit and write_file"`
	Path        string `json:"path,omitempty" jsonschema:"file of the skill, such as references/rules.md; SKILL.md unless given"`
	Find        string `json:"find,omitempty" jsonschema:"text to replace, for patch"`
	Replace     string `json:"replace,omitempty" jsonschema:"text in its place, for patch"`
	Expected    int    `json:"expected_count,omitempty" jsonschema:"how often find occurs, for patch; 1 unless given"`
}

// ManageSkills returns the tool that writes skills.
func ManageSkills(rules SkillRules) *agent.Tool {
	return New(SkillManage, "", skillManageText, func(
		ctx context.Context, t *agent.Turn, a skillArgs) (agent.Result, error) {
		if rules.Allowed != nil && !slices.Contains(rules.Allowed, a.Name) {
			return agent.ErrorResult("Error: this agent may not change the skill " + clip(a.Name, 80)), nil
		}
		said, err := rules.act(ctx, t, a)
		refused := new(skills.Refused)
		switch {
		case err == nil:
			return agent.TextResult(said), nil
		case errors.As(err, &refused):
			return agent.ErrorResult("Error: nothing was changed: " + agent.Escape(refused.Why)), nil
		case errors.Is(err, skills.ErrNotFound), errors.Is(err, skills.ErrReadOnly), errors.Is(err, skills.ErrExists):
			return agent.ErrorResult("Error: nothing was changed: " + err.Error()), nil
		}
		return agent.Result{}, err
	})
}

// act performs the operation and describes the result.
func (r SkillRules) act(ctx context.Context, t *agent.Turn, a skillArgs) (string, error) {
	by := skills.Edit{Author: "agent", Thread: t.ThreadID, Scan: r.Scan, Action: a.Action}
	file := path.Clean("/" + a.Path)[1:]
	if file == "" {
		file = skills.File
	}
	text := a.Content
	switch a.Action {
	case "create", "edit", "write_file":
		if strings.TrimSpace(text) == "" {
			return "", wrong("%s needs content", a.Action)
		}
	case "patch":
		var err error
		if text, err = r.patched(a, file); err != nil {
			return "", err
		}
	case "remove_file":
		_, err := r.Library.RemoveFile(a.Name, file, by)
		return "Removed " + file + " from the skill " + a.Name + ".", err
	case "delete":
		err := r.Library.Delete(a.Name, by)
		return "Deleted the skill " + a.Name + ".", err
	default:
		return "", wrong("there is no action %q; there are create, edit, patch, delete, write_file and remove_file",
			clip(a.Action, 40))
	}
	if a.Action == "create" || a.Action == "edit" {
		file = skills.File
	}
	verdict, err := r.judge(ctx, t, a.Name, file, text)
	if err != nil {
		return "", err
	}
	by.Verdict = verdict
	switch {
	case a.Action == "create":
		if found := skills.Parse([]byte(text), ""); found.Name != a.Name {
			return "", wrong("the name in the front matter is %q, not %q", clip(found.Name, 80), clip(a.Name, 80))
		}
		_, err = r.Library.Create(text, by)
		if errors.Is(err, skills.ErrExists) { // a call that a crash cut off may have done it
			if was, err2 := r.Library.Get(a.Name); err2 == nil && was.Editable() && was.Text() == text {
				err = nil
			}
		}
		return "Created the skill " + a.Name + ". It can be used from the next message on, also as /" + a.Name +
			".", err
	case file == skills.File:
		_, err = r.Library.Write(a.Name, text, by)
	default:
		_, err = r.Library.WriteFile(a.Name, file, text, by)
	}
	return fmt.Sprintf("Wrote %s of the skill %s (%s).", file, a.Name, characters(text)), err
}

// patched returns the text of a file after a replacement.
func (r SkillRules) patched(a skillArgs, file string) (string, error) {
	text := ""
	if file == skills.File {
		s, err := r.Library.Get(a.Name)
		if err != nil {
			return "", err
		}
		text = s.Text()
	} else {
		var err error
		if text, err = r.Library.ReadFile(a.Name, file); err != nil {
			return "", err
		}
	}
	want := max(a.Expected, 1)
	switch n := strings.Count(text, a.Find); {
	case a.Find == "":
		return "", wrong("patch needs find, the text to replace")
	case n != want:
		return "", wrong("find occurs %d times in %s, not %d; read the file again", n, file, want)
	}
	return strings.ReplaceAll(text, a.Find, a.Replace), nil
}

// judge checks a text by rules, then by a model.
func (r SkillRules) judge(ctx context.Context, t *agent.Turn, name, file, text string) (*skills.Scan, error) {
	found, runs := skills.Check(file, text)
	if r.Scan && len(found) > 0 && found[0].Severity == skills.Bad {
		return nil, wrong("the text is not safe: %s", found[0])
	}
	if r.Judge == nil {
		return nil, nil
	}
	scan, err := r.Judge(ctx, t, name, file, text, runs)
	if err != nil {
		return nil, err
	}
	return &scan, nil
}

func wrong(format string, args ...any) error {
	return &skills.Refused{Why: fmt.Sprintf(format, args...)}
}
