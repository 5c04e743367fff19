package web

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/memory"
	"fawn/store"
)

// learnTime limits how long the end of a run waits for its entry in the memory queue.
const learnTime = 5 * time.Second

// openMemory opens the memory of people across threads.
func (e *engine) openMemory(conf *config.Store, d *data, log *slog.Logger) {
	e.memory = memory.New(memory.Config{DB: d.db, Scope: d.memoryScope, Escape: agent.Escape, Log: log,
		Rules: func() memory.Rules { return memoryRules(conf.Current().File.Memory, d.dirs.Root) },
		Ask: func(ctx context.Context, l memory.Lesson, prompt string) (string, error) {
			return e.builder.Teach(ctx, l, prompt)
		}})
}

// memoryRules returns the settings of memory. dir is the data folder.
func memoryRules(c config.Memory, dir string) memory.Rules {
	b := c.Backend
	path := cmp.Or(b.StoragePath, "memory.json")
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
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
func (e *engine) takeMemory(ctx context.Context, log *slog.Logger) {
	if _, err := e.memory.Reload(ctx, store.DefaultOwner); err != nil && ctx.Err() == nil {
		log.Warn("couldn't import memory.json", "err", err)
	}
}

// learn queues a run's conversation for memory.
func (e *engine) learn(t *agent.Turn, said []*agent.Message) {
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
	if err := e.memory.Learn(ctx, l); err != nil {
		t.Log.Warn("couldn't queue a conversation for memory", "err", err)
	}
}

// recall finds the relevant facts for a turn.
func (e *engine) recall(ctx context.Context, t *agent.Turn, told []string) (middleware.Recalled, error) {
	r, err := e.memory.Recall(ctx,
		memory.Question{Owner: t.Owner, Agent: scope(t), Thread: t.ThreadID, Text: request(t.State.Messages),
			Told: told})
	return middleware.Recalled{Text: r.Text, IDs: r.IDs}, err
}

// scope names the memory that a turn uses; "" is the lead agent's.
func scope(t *agent.Turn) string {
	name := strings.ToLower(t.Options.AgentName)
	if name == "lead_agent" {
		return ""
	}
	return name
}

// fewWords is the length below which a message is too short to show its subject.
const fewWords = 24

// request returns the user's last message, with the one before if it is short.
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
