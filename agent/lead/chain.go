package lead

import (
	"slices"
	"time"

	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/sandbox/files"
)

// chain returns the ordered list of stages, first outermost. Before-hooks run in this order, after-hooks in reverse.
func (b *Builder) chain(snap *config.Snapshot, e equipment, k *kit) []agent.Middleware {
	// own: of a lead agent; helpers lack the stages for conversations with people
	f, own := snap.File, e.helper == nil
	all := []agent.Middleware{
		// wrap_model: people's text can't pose as a block of the server
		middleware.InputSanitize(),
		// wrap_tool: results report the call's outcome
		middleware.ToolMeta(),
		// wrap_tool, wrap_model: long results become files
		when(f.ToolOutput.Enabled, middleware.ToolBudget(b.open, outputBudget(f.ToolOutput, e.model.ContextWindow))),
		// wrap_tool: the same for content of the network and foreign servers
		middleware.ToolResultSanitize(k.foreign),
		// before_agent, wrap_tool: no value of a secret in a result
		middleware.Secrets(),
		// before_agent: the folders everything below uses
		middleware.ThreadData(b.dirs, f.ThreadData.LazyInit),
		// before_agent: files that came with the message
		when(own, middleware.Uploads(b.dirs, b.docs)),
		// before_agent, wrap_tool: the sandbox's id
		middleware.Sandbox(b.sandbox, b.policy, f.Sandbox.LazyInit),
		// wrap_model: logs calls without a result
		middleware.DanglingToolCalls(),
		// wrap_model: failed calls are retried or explained
		middleware.LLMErrors(retries(f.LLMCall, e.model), b.line(f.CircuitBreaker, e.model.Name), b.backups(snap, e)...),
		// wrap_tool: only tools that the role of the person may use
		when(f.Authorization.Enabled, middleware.Authorization(authorizer(f.Authorization), f.Authorization.DefaultRole,
			f.Authorization.FailClosed, b.audit)),
		// wrap_tool: only tools the owner allows
		when(f.Guardrails.Enabled, middleware.Guardrail(guard(f.Guardrails), f.Guardrails.Passport,
			f.Guardrails.FailClosed, b.audit)),
		// wrap_tool: commands are checked, refusals recorded
		middleware.Audit(b.open, b.audit),
		// wrap_tool: no changes of unread files
		when(f.ReadBeforeWrite.Enabled, middleware.ReadGate(b.open, b.reads.Lock)),
		// wrap_tool: failures become results
		middleware.ToolErrors(),
		// before_agent: the date and memories
		middleware.DynamicContext(b.now(f.Timezone), b.remember(f.Memory, e)),
		// before_agent, wrap_model, wrap_tool: skills that messages name, and the tools they allow
		b.skillStage(f, e),
		// before_model, after_model: information that must survive compaction
		middleware.DurableContext(f.Summarization.SkillFileReadToolNames, files.Skills),
		// before_model, wrap_model, after_model: no request is longer than the model can read
		middleware.Compaction(b.compaction(snap, e, k)),
		// before_agent, wrap_model, after_model: the thread's goal is pursued
		when(own, middleware.Goal(middleware.GoalRules{Ask: b.helper(snap, "", e.model, e.job("goal")), Now: time.Now})),
		// wrap_model, after_model, wrap_tool: the plan is kept
		when(e.options.PlanMode, middleware.Todos()),
		// before_model, wrap_tool: a person's plan edits are kept and shown to the model
		when(own, middleware.PlanEdits()),
		// after_model: the cost and purpose of a call
		when(f.TokenUsage.Enabled, middleware.TokenUsage()),
		// before_model, wrap_model, after_model, after_agent: the thread's name
		when(own && f.Title.Enabled, middleware.Title(b.titles(snap, e))),
		// after_agent: the conversation goes to the memory, under the thread's final title
		when(own && !e.options.Guest && b.learn != nil && f.Memory.Enabled && f.Memory.Mode != "tool", middleware.Memory(b.learn)),
		// wrap_model, after_model: requested images are shown once
		middleware.ViewImage(b.open),
		// wrap_model: images are only for models that see
		middleware.Sight(f.Runs.AllowDegradation, func() error { return &CapabilityError{e.model.Name, "see images"} }),
		// wrap_model: images are upright and without location data
		middleware.Pictures(b.show),
		// before_model: hidden tools appear automatically for requests chosen by their owner
		middleware.ToolRouting(k.deferred, f.ToolSearch.AutoPromoteTopK),
		// wrap_model, wrap_tool: schemas of found tools are added
		middleware.DeferredTools(k.deferred),
		// wrap_model: one system message, at the front
		middleware.SystemMessages(),
		// after_model: not too many helpers
		when(e.options.Subagents, middleware.SubagentLimit(e.helpers(f.Subagents), f.Subagents.MaxTotal)),
		// after_model, wrap_model: detects loops
		when(f.LoopDetection.Enabled, middleware.LoopDetection(f.LoopDetection)),
		// before_agent, wrap_model, after_model: budget of a run and a thread
		when(f.TokenBudget.Enabled, middleware.TokenBudget(f.TokenBudget, e.budget)),
		// wrap_model, after_model: the owner's daily allowance
		when(e.day != nil, middleware.DayLimit(e.day)),
		// before_agent, wrap_model, after_model: budget of a helper
		when(helperBudget(e).Enabled, middleware.HelperBudget(helperBudget(e))),
		// wrap_model, after_model: every run ends with an explanation
		middleware.TerminalResponse(),
		// after_model: an answer cut by the model's limit is called so
		middleware.LengthStop(),
		// before_agent, after_agent: logs the thread's size
		when(own, middleware.StateSize()),
		// after_model: drops calls of answers stopped by a safety filter
		when(f.SafetyFinishReason.Enabled, middleware.SafetyStop()),
		// wrap_model: drops refused content and continues
		middleware.Refusals(b.withdraw),
		// wrap_model: a request doesn't end with the model's own message
		middleware.Continuation(),
		// after_model: the owner's name for the folder of skills is the usual one from here on
		when(b.shownAt != files.Skills, middleware.SkillsAt(b.shownAt)),
		// wrap_tool: servers of tools may ask for model calls, within limits
		b.sampling(snap, e),
		// wrap_tool: a question ends the run; the innermost stage
		middleware.Clarification(),
	}
	return slices.DeleteFunc(all, func(m agent.Middleware) bool { return m.Name == "" })
}

// when returns the stage, or none.
func when(on bool, m agent.Middleware) agent.Middleware {
	if !on {
		return agent.Middleware{}
	}
	return m
}

// outputBudget returns the limits of results. In a small window, any tool's result takes at most a quarter.
func outputBudget(b middleware.OutputBudget, window int) middleware.OutputBudget {
	if small(window) {
		b.FileChars, b.CutChars = min(b.FileChars, window), min(b.CutChars, window)
		b.Exempt, b.Tools = nil, nil
	}
	return b
}

// helpers returns the limit of helpers per answer: the run's, else the owner's.
func (e equipment) helpers(c config.Subagents) int {
	if e.options.MaxConcurrentSubagents > 0 {
		return e.options.MaxConcurrentSubagents
	}
	return c.MaxConcurrent
}

// retries returns the configured rules; a model may override the number of attempts.
func retries(r middleware.RetryRules, m config.Model) middleware.RetryRules {
	if m.MaxRetries != nil {
		r.Attempts = 1 + *m.MaxRetries
	}
	return r
}
