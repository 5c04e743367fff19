package web

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/middleware"
	"fawn/memory"
	"fawn/store"
)

// learnTime is how long the end of a run may wait for the note of what it has to teach.
const learnTime = 5 * time.Second

// openMemory makes what remembers people across threads.
func (a *App) openMemory() *memory.Service {
	return memory.New(memory.Config{DB: a.db, Rules: a.memoryRules, Scope: a.memoryScope, Escape: agent.Escape, Log: a.opts.Log,
		Ask: func(ctx context.Context, l memory.Lesson, prompt string) (string, error) {
			return a.builder.Teach(ctx, l, prompt)
		}})
}

// memoryRules are those of the configuration at this moment.
func (a *App) memoryRules() memory.Rules {
	c := a.config.Current().File.Memory
	b := c.Backend
	path := cmp.Or(b.StoragePath, "memory.json")
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.dirs.Root, path)
	}
	return memory.Rules{Enabled: c.Enabled, Inject: c.InjectionEnabled, Debounce: b.Debounce,
		QueueDepth: b.QueueMaxDepth, Path: path,
		MaxFacts: b.MaxFacts, Confidence: b.FactConfidenceThreshold,
		InjectFacts: b.MaxInjectedFacts, InjectTokens: b.MaxInjectionTokens, Guaranteed: b.GuaranteedCategories,
		GuaranteedTokens: b.GuaranteedTokenBudget,
		Review:           b.StalenessReviewEnabled, StaleDays: b.StalenessAgeDays, StaleLeast: b.StalenessMinCandidates,
		StaleMost: b.StalenessMaxRemovalsPerCycle,
		StaleKeep: b.StalenessProtectedCategories, StaleLifetime: b.StalenessMaxLifetimeMultiplier,
		StaleExtend: b.StalenessMaxExtensionDays}
}

// takeMemory takes in a memory.json that was put into its place or edited since the last start.
func (a *App) takeMemory(ctx context.Context) {
	if _, err := a.memory.Reload(ctx, store.DefaultOwner); err != nil && ctx.Err() == nil {
		a.opts.Log.Warn("couldn't import memory.json", "err", err)
	}
}

// learn is what a run does with its conversation at its end.
func (a *App) learn(t *agent.Turn, said []*agent.Message) {
	l := memory.Lesson{Owner: t.Owner, Agent: scope(t), Thread: t.ThreadID, Run: t.RunID, Model: t.Options.ModelName}
	for _, m := range said {
		text := m.Content.String()
		if m.Type == agent.TypeAI {
			text = agent.WithoutThoughts(text)
		}
		l.Said = append(l.Said, memory.Said{ID: m.ID, Human: m.Type == agent.TypeHuman, Text: text})
	}
	ctx, cancel := context.WithTimeout(context.Background(), learnTime)
	defer cancel()
	if err := a.memory.Learn(ctx, l); err != nil {
		t.Log.Warn("couldn't note what a conversation has to teach", "err", err)
	}
}

// recall finds what is known for a turn.
func (a *App) recall(ctx context.Context, t *agent.Turn, told []string) (middleware.Recalled, error) {
	r, err := a.memory.Recall(ctx,
		memory.Question{Owner: t.Owner, Agent: scope(t), Thread: t.ThreadID, Text: request(t.State.Messages),
			Told: told})
	return middleware.Recalled{Text: r.Text, IDs: r.IDs}, err
}

// scope is whose facts a turn works with; "" is the lead agent.
func scope(t *agent.Turn) string {
	name := strings.ToLower(t.Options.AgentName)
	if name == "lead_agent" {
		return ""
	}
	return name
}

// fewWords is when a message is too short to tell what it is about.
const fewWords = 24

// request is what a person asks for: their last message, with the one before if it is short.
func request(msgs []*agent.Message) string {
	text := ""
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Genuine() {
			text = msgs[i].Content.String() + "\n" + text
			if len(text) >= fewWords {
				break
			}
		}
	}
	return text
}
