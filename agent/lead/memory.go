package lead

import (
	"cmp"
	"context"

	"fawn/agent/config"
	"fawn/memory"
)

// memoryModel names the model that the configuration describes for memory alone.
const memoryModel = "memory"

// Teach returns a memory.Ask that lets a model extract facts from a conversation: the model configured for memory, else
// the cheapest lightweight one, else the run's. Runs of the built-in model extract nothing.
func (b *Builder) Teach(ctx context.Context, l memory.Lesson, prompt string) (string, error) {
	snap := b.config()
	usable := snap.UsableModels()
	if l.Model == OfflineModel || len(usable) == 0 {
		return "", memory.ErrNoModel
	}
	own, ok := snap.Model(l.Model)
	if !ok || own.Disabled != "" {
		own = usable[0]
	}
	c := snap.File.Memory.Backend
	named := c.ModelName
	if m := c.Model; named == "" && (m.Model != "" || m.Provider != "") {
		own = config.Model{Name: memoryModel, Use: cmp.Or(m.Provider, "openai"), Model: m.Model, APIKey: m.APIKey,
			BaseURL: m.BaseURL, Temperature: m.Temperature, Extra: m.Extra}
	} else {
		named = sideModel(snap, named, own)
	}
	ask := b.helper(snap, named, own, SideCall{Purpose: "memory", Owner: l.Owner, Thread: l.Thread, Run: l.Run})
	if ask == nil {
		return "", memory.ErrNoModel
	}
	return ask(ctx, prompt)
}
