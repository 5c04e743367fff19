package ui

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/config"
	collections "fawn/agent/knowledge"
	"fawn/agent/runs/request"
	"fawn/store"
	"fawn/views"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// choice is a reader's choice of mode, model, effort and collections of documents for runs. Empty fields are not chosen.
type choice struct {
	Model  string     `json:"model,omitempty"`
	Mode   views.Mode `json:"mode,omitempty"`
	Effort string     `json:"effort,omitempty"`

	Knowledge []string `json:"knowledge,omitempty"` // ids of collections
}

// same reports whether two choices are equal.
func (ch choice) same(o choice) bool {
	return ch.Model == o.Model && ch.Mode == o.Mode && ch.Effort == o.Effort && slices.Equal(ch.Knowledge, o.Knowledge)
}

// choiceKey is the metadata key of a thread's choice. It is copied with the thread.
const choiceKey = "fawn_choice"

// efforts are the levels that a reader may ask for instead of the mode's own.
var efforts = []string{"minimal", "low", "medium", "high"}

// modeFlags are the options of a run that make a mode.
var modeFlags = map[views.Mode]struct {
	thinking, plan, subagents bool
	effort                    string
}{
	views.ModeFlash:    {},
	views.ModeThinking: {thinking: true, effort: "low"},
	views.ModePro:      {thinking: true, plan: true, effort: "medium"},
	views.ModeUltra:    {thinking: true, plan: true, subagents: true, effort: "high"},
}

// chosen returns the reader's choice for a thread, nil for a new one: its own, else the last one made anywhere.
func (u *UI) chosen(c echo.Context, t *store.Thread) choice {
	if t != nil {
		if own, ok := choiceOf(*t); ok {
			return own
		}
	}
	p := page.ReadPrefs(c.Request())
	return choice{Model: p.Model, Mode: p.Mode, Effort: p.Effort}
}

// possible limits a choice to available models and modes, and fills in defaults. The model is empty when only the
// offline one is there.
func (u *UI) possible(ctx context.Context, ch choice) (choice, config.Model) {
	var entry config.Model
	if list := u.Models(ctx); len(list) > 0 {
		entry = list[max(0, slices.IndexFunc(list, func(m config.Model) bool { return m.Name == ch.Model }))]
	}
	ch.Model = entry.Name
	ch.Mode = known(ch.Mode)
	if !entry.SupportsThinking {
		ch.Mode = views.ModeFlash
	}
	if !slices.Contains(efforts, ch.Effort) || !entry.SupportsReasoningEffort {
		ch.Effort = ""
	}
	return ch, entry
}

// known returns a valid mode, or the default.
func known(m views.Mode) views.Mode {
	if _, ok := modeFlags[m]; !ok {
		return views.ModePro
	}
	return m
}

func choiceOf(t store.Thread) (choice, bool) {
	var meta struct {
		Choice *choice `json:"fawn_choice"`
	}
	if json.Unmarshal(t.Metadata, &meta) != nil || meta.Choice == nil {
		return choice{}, false
	}
	return *meta.Choice, true
}

// options converts the choice into options of a run.
func (ch choice) options() map[string]any {
	flags := modeFlags[ch.Mode]
	out := map[string]any{"mode": string(ch.Mode), "thinking_enabled": flags.thinking, "is_plan_mode": flags.plan,
		"subagent_enabled": flags.subagents}
	if ch.Model != "" {
		out["model_name"] = ch.Model
	}
	effort := flags.effort
	if ch.Effort != "" && flags.thinking {
		effort = ch.Effort
	}
	if effort != "" {
		out["reasoning_effort"] = effort
	}
	if len(ch.Knowledge) > 0 {
		out["knowledge"] = ch.Knowledge
	}
	return out
}

// with takes over the fields that a form has.
func (ch choice) with(form url.Values) choice {
	if form.Has("model") {
		ch.Model = page.Head(form.Get("model"), page.MaxPref)
	}
	if form.Has("mode") {
		ch.Mode = views.Mode(page.Head(form.Get("mode"), page.MaxPref))
	}
	if form.Has("effort") {
		ch.Effort = page.Head(form.Get("effort"), page.MaxPref)
	}
	if form.Has("knowledge-shown") {
		ch.Knowledge = nil
		for _, id := range form["knowledge"] {
			if id != "" && len(id) <= page.MaxPref && len(ch.Knowledge) < request.MaxKnowledge {
				ch.Knowledge = append(ch.Knowledge, id)
			}
		}
	}
	return ch
}

// choose handles POST /ui/threads/:id/choice: the thread keeps it, and new chats begin with it.
func (u *UI) choose(c echo.Context, id string) error {
	ctx := c.Request().Context()
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	if use := form.Get("memory"); use != "" { // sent separately
		if err := u.switchMemory(ctx, id, use == "on"); err != nil {
			return err
		}
		return page.Frame(c, views.Frame{}, views.ThreadURL(id))
	}
	t, err := u.OwnThread(ctx, id)
	switch {
	case err == nil:
		if err := u.keepChoice(ctx, t, u.chosen(c, &t).with(form)); err != nil {
			return err
		}
	case !errors.Is(err, store.ErrNotFound): // a new chat isn't a thread yet
		return err
	}
	u.SetPrefs(c, form)
	return page.Frame(c, views.Frame{}, views.ThreadURL(id))
}

// keepChoice stores a changed choice for a thread.
func (u *UI) keepChoice(ctx context.Context, t store.Thread, ch choice) error {
	if old, ok := choiceOf(t); ok && old.same(ch) {
		return nil
	}
	merge, err := agent.Encode(map[string]any{choiceKey: ch})
	if err != nil {
		return err
	}
	return u.DB.Commit(ctx, store.Batch{ThreadID: t.ID, Patch: &store.ThreadPatch{Merge: merge}})
}

// choices fills the pickers of a message box.
func (u *UI) choices(c echo.Context, t *store.Thread, box *views.Composer) {
	wanted := u.chosen(c, t)
	if t == nil && box.Partner.Name != "" {
		a, err := u.Agents.Get(principal.Owner(c.Request().Context()), box.Partner.Name)
		if err == nil && a.Model != "" {
			wanted.Model = a.Model
		}
	}
	ch, entry := u.possible(c.Request().Context(), wanted)
	for _, m := range u.Models(c.Request().Context()) {
		box.Models = append(box.Models, views.ModelChoice{Name: m.Name, Label: m.DisplayName, Text: m.Description,
			Thinks: m.SupportsThinking, Effort: m.SupportsReasoningEffort})
	}
	box.Model, box.Mode, box.Effort = ch.Model, known(wanted.Mode), ch.Effort
	if entry.Name == "" {
		box.Models, box.Model = []views.ModelChoice{{Name: views.OfflineModel}}, views.OfflineModel
	}
}

// pickable lists the collections of documents that the reader may choose for a chat. t is nil for a new one.
func (u *UI) pickable(c echo.Context, t *store.Thread) ([]views.ProjectChoice, error) {
	ctx := c.Request().Context()
	list, err := collections.Choices(ctx, u.DB, principal.Owner(ctx), u.chosen(c, t).Knowledge)
	var out []views.ProjectChoice
	for _, one := range list {
		if one.ID != "" { // chosen ones that the reader can't read any more are left out
			out = append(out, views.ProjectChoice{Name: one.ID, Label: one.Label, On: one.Chosen})
		}
	}
	return out, err
}

// names returns the names that groups' rules may contain, without other people's agents.
func (u *UI) names(ctx context.Context) map[access.Kind][]string {
	snap := u.Config.Current()
	out := map[access.Kind][]string{}
	for _, m := range snap.UsableModels() {
		out[access.Model] = append(out[access.Model], m.Name)
	}
	agents := slices.Concat(slices.Collect(maps.Keys(snap.File.ACPAgents)), slices.Collect(maps.Keys(snap.File.Subagents.CustomAgents)))
	for _, e := range u.ownAgents(ctx) {
		agents = append(agents, e.Name)
	}
	slices.Sort(agents)
	out[access.Agent] = slices.Compact(agents)
	if u.Skills != nil {
		list, err := u.Skills.List()
		if err != nil {
			u.Log.Warn("couldn't list skills for groups", "err", err)
		}
		for _, s := range list {
			out[access.Skill] = append(out[access.Skill], s.Name)
		}
	}
	out[access.Server] = append(out[access.Server], slices.Sorted(maps.Keys(snap.Extensions.MCPServers))...)
	return out
}
