package web

import (
	"context"
	"fmt"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/knowledge"
	"fawn/agent/lead"
	"fawn/agent/llm"
	"fawn/agent/projects"
	"fawn/agent/runs"
	"fawn/agent/threads"
	"fawn/memory"
	"fawn/sandbox/changes"
	"fawn/sandbox/netguard"
	"fawn/store"
)

// engine groups the parts that build agents, run them, and keep what their runs refer to.
type engine struct {
	memory    *memory.Service
	builder   *lead.Builder
	runs      *runs.Manager
	projects  *projects.Service
	knowledge *knowledge.Service
	copier    *threads.Copier
}

// openEngine opens them, and ends or resumes the runs that the last stop cut off.
func (a *App) openEngine(ctx context.Context, snap *config.Snapshot) error {
	e, d, log := &a.engine, &a.data, a.opts.Log
	remove := func(thread string) error { return a.tools.removeThread(d, thread) }
	e.openMemory(a.config, d, log)
	e.builder = lead.NewWith(a.config.Current, d.dirs, log, a.leadOptions())
	e.runs = runs.New(runs.Config{DB: d.db, Watch: changes.New(d.dirs), Files: d.versions(), Build: e.builder.Build,
		Admit: e.builder.Admit, Remove: remove, Ending: e.memory.Ending, Observe: a.insight.observer(),
		Mark: snap.File.Runs.Resume == "mark", Slots: snap.File.Cluster.Slots, Steps: a.steps, Log: log})
	e.openProjects(d, &a.tools, &a.front, log)
	e.openKnowledge(a.config, d, &a.tools, a.network, log)
	e.copier = &threads.Copier{DB: d.db, Files: a.copyFiles, FilesAt: a.copyVersion(), Remove: remove, Log: log}
	if err := e.runs.Recover(ctx); err != nil {
		return fmt.Errorf("clean up after the last stop: %w", err)
	}
	return nil
}

// leadOptions returns the parts of the program that agents use.
func (a *App) leadOptions() lead.Options {
	t, l, e := &a.tools, &a.library, &a.engine
	collections := known{a.data.db, e, l}
	return lead.Options{Guard: func() *netguard.Guard { return a.network.web(nil) }, Public: a.network.public,
		Documents: t.documents, Pictures: t.pictures, Sandbox: t.sandbox,
		Tools: append(t.web.Tools(), t.browsing.Tools()...), Browser: t.browsers.Ready,
		Audit: a.insight.trail.Judged, Retitle: a.retitle, Titles: keptTitles{a.data.db, a.opts.Log}, Spent: a.book,
		Spawn: func(ctx context.Context, t *agent.Turn, task runs.Task) (store.Run, agent.State, error) {
			return e.runs.Child(ctx, t, task) // the manager of runs is made after the builder of agents
		},
		Agents: l.agents, Skills: l.skills, SkillsAt: l.skillsAt, Project: a.data.projectOf,
		Knowledge: collections, Collections: collections.named, Memory: e.recall, Learn: e.learn, More: t.mcp.Tools,
		Client: t.clientTools.Tool, Await: t.mcp.Await, Withdraw: t.mcp.Withdraw, Without: a.switchedOff,
		Access: a.people.access}
}

// steps are the limits of steps as they are configured now.
func (a *App) steps() runs.StepLimits {
	f := a.config.Current().File
	return runs.StepLimits{Usual: f.Runs.RecursionLimit, Most: f.MaxRecursionLimit,
		Fail: f.Runs.OnRecursionLimit == "error"}
}

// close ends the runs and keeps their output, then ends side calls of models and their connections.
func (e *engine) close() {
	if e.runs != nil {
		e.runs.Close()
	}
	if e.builder != nil {
		e.builder.Close()
	}
	llm.CloseIdle()
}
