package lead

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/llm"
	"fawn/agent/middleware"
	"fawn/agent/runs"
)

// CapabilityError ends a run whose model lacks a required capability when degrading isn't allowed.
type CapabilityError struct{ Model, What string }

// Error names the model, the missing capability and the remedy.
func (e *CapabilityError) Error() string {
	return fmt.Sprintf("the model %s cannot %s; ask for a model that can, or allow runs.allow_degradation", e.Model,
		e.What)
}

// ErrorName names the kind of failure for clients.
func (e *CapabilityError) ErrorName() string { return "ModelCapability" }

// model resolves the run's model: the requested one, otherwise the first usable one, otherwise the built-in one.
// Requests for unknown models are rejected earlier; an unusable choice of the agent becomes a warning in the run's
// metadata.
func (b *Builder) model(snap *config.Snapshot, s runs.Spec, c custom, may access.Rights) (agent.Model, config.Model, error) {
	usable, err := models(snap, may, s.Options.ModelName)
	if err != nil {
		return nil, config.Model{}, err
	}
	var entry config.Model
	if len(usable) > 0 {
		entry = usable[0]
	}
	if name := s.Options.ModelName; name != "" && name != OfflineModel {
		m, ok := snap.Model(name)
		why := "is not configured"
		switch {
		case ok && m.Disabled == "":
			entry, why = m, ""
		case ok:
			why = "is disabled: " + m.Disabled
		}
		if why != "" {
			b.log.Warn("requested model unusable", "run", s.RunID, "model", name, "reason", why)
			remark(s, "model_warning", "model "+name[:min(len(name), 80)]+" "+why+"; the next choice was used")
		}
	}
	if entry.Name == "" || s.Options.ModelName == OfflineModel {
		// The model computes over whole files and has no window: truncated results would only make it read again.
		entry = config.Model{Name: OfflineModel, Use: OfflineModel, ContextWindow: math.MaxInt32}
	}
	s.Options.ModelName = entry.Name
	entry = c.settle(entry)
	m, err := b.models.get(snap, entry, b.connect)
	if err != nil {
		return nil, entry, fmt.Errorf("model %s: %w", entry.Name, err)
	}
	return m, entry, nil
}

// connected are the models of the configuration that is in use, by name: they are the same
// for all its runs. Its zero value is ready.
type connected struct {
	mu     sync.Mutex
	snap   *config.Snapshot
	models map[string]agent.Model
}

// get returns an entry's model, created on first use.
func (c *connected) get(snap *config.Snapshot, entry config.Model,
	connect func(config.Model) (agent.Model, error)) (agent.Model, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.snap != snap {
		c.snap, c.models = snap, map[string]agent.Model{}
	}
	key := modelKey(entry)
	if m := c.models[key]; m != nil {
		return m, nil
	}
	m, err := connect(entry)
	if err == nil {
		c.models[key] = m
	}
	return m, err
}

func remark(s runs.Spec, key, text string) {
	if s.Remark != nil {
		s.Remark(key, text)
	}
}

// fit turns off options that the model doesn't support. Only those requested by the caller are reported as missing; the
// offline model is never asked for any.
func fit(s runs.Spec, m config.Model, degrade bool) error {
	o := s.Options
	var missing []string
	if o.ThinkingAsked && o.Thinking && !m.SupportsThinking {
		missing = append(missing, "think before it answers")
	}
	takes := m.SupportsReasoningEffort && TakesEffort(m, o.ReasoningEffort) == nil
	switch {
	case o.ReasoningEffort == "" || takes:
	case !m.SupportsReasoningEffort:
		missing = append(missing, "take a reasoning effort")
	default:
		missing = append(missing, "take the reasoning effort "+agent.Head(o.ReasoningEffort, 40)+" (it takes "+
			strings.Join(llm.Efforts(ModelConfig(m)), ", ")+")")
	}
	if len(missing) > 0 && !builtIn(m) {
		what := strings.Join(missing, " or ")
		if !degrade {
			return &CapabilityError{m.Name, what}
		}
		remark(s, "capability_warning", fmt.Sprintf("the model %s cannot %s; it answered without", m.Name, what))
	}
	o.Thinking = o.Thinking && m.SupportsThinking
	if !takes {
		o.ReasoningEffort = ""
	}
	o.Vision = m.SupportsVision
	return nil
}

// TakesEffort explains why a model with reasoning efforts doesn't support this one; nil = it does.
func TakesEffort(m config.Model, effort string) error {
	known := llm.Efforts(ModelConfig(m))
	if slices.Contains(known, effort) {
		return nil
	}
	return fmt.Errorf("the model %s supports the reasoning efforts %s, not %q", m.Name, strings.Join(known, ", "),
		agent.Head(effort, 40))
}

// UnknownAgentError ends a run that requests a missing agent.
type UnknownAgentError struct{ Name string }

// Error names it and the remedy.
func (e *UnknownAgentError) Error() string {
	return fmt.Sprintf("there is no agent %q; leave agent_name out for the lead agent", agent.Head(e.Name, 80))
}

// ErrorName names the kind of failure for clients.
func (e *UnknownAgentError) ErrorName() string { return "UnknownAgent" }

// sideModel returns the name of the model for titles and summaries: the configured one, else the cheapest lightweight
// one, those without a price last. "" is the run's own, always used with the built-in model: such a run makes no side
// calls.
func sideModel(snap *config.Snapshot, named string, own config.Model) string {
	if named != "" || builtIn(own) {
		return named
	}
	light := slices.DeleteFunc(snap.UsableModels(), func(m config.Model) bool { return !m.Lightweight })
	if len(light) == 0 {
		return ""
	}
	price := func(m config.Model) float64 {
		if m.Pricing == nil {
			return math.Inf(1)
		}
		return m.Pricing.InputPerMillion + m.Pricing.OutputPerMillion
	}
	return slices.MinFunc(light, func(a, b config.Model) int { return cmp.Compare(price(a), price(b)) }).Name
}

// backups returns the models that answer if a run's model can't be called: its fallback, then that one's, skipping
// unusable ones.
func (b *Builder) backups(snap *config.Snapshot, e equipment) []middleware.Backup {
	var out []middleware.Backup
	seen := []string{e.model.Name}
	for next := e.model.Fallback; next != "" && !slices.Contains(seen, next); {
		seen = append(seen, next)
		entry, ok := snap.Model(next)
		if !ok {
			break // the configuration warned of it
		}
		next = entry.Fallback
		if entry.Disabled != "" || !e.may.May(access.Model, entry.Name) {
			continue
		}
		out = append(out, middleware.Backup{Model: entry.Name, Open: func() (agent.Model, error) {
			return b.connect(entry)
		},
			Line: b.line(snap.File.CircuitBreaker, entry.Name), Thinking: entry.SupportsThinking,
			Effort: entry.SupportsReasoningEffort, Vision: entry.SupportsVision,
			Reading: b.reading(e, entry)})
	}
	return out
}
