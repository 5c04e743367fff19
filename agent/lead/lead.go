package lead

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/agent/profile"
	"fawn/agent/runs"
	"fawn/agent/skills"
	"fawn/agent/subagent"
	"fawn/agent/tools"
	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/netguard"
	"fawn/uploads"
)

// OfflineModel is the name of the built-in model, which answers while no other is usable.
const OfflineModel = "offline"

// Builder creates the agents of runs.
type Builder struct {
	config   func() *config.Snapshot
	dirs     files.Dirs
	open     middleware.Files
	docs     uploads.Documents
	show     uploads.Pictures
	sandbox  sandbox.Provider // nil runs nothing
	audit    func(middleware.AuditRecord)
	connect  func(config.Model) (agent.Model, error)
	more     func() ([]*agent.Tool, uint64)
	withdraw func(t *agent.Tool, why string) // for the tools of more
	await    func(context.Context)           // waits briefly for the first tools of more
	without  Without
	browser  func() bool
	tools    []*agent.Tool // stateless but for their file locks, so all runs share them
	weights  weights       // weights of tools
	client   func(agent.ClientTool) *agent.Tool
	bash     func() *agent.Tool // nil where commands cannot run; waits until that is known
	reads    *tools.Locks       // locks of the stage that detects files changed since they were read
	late     func(ctx context.Context, thread, from, to string, cost []SideCall)
	found    TitleKeeper
	project  func(ctx context.Context, thread string) (*Project, error)
	named    func(ctx context.Context, person, owner string, names []string) ([]Collection, error) // nil means none
	memory   middleware.Remember
	learn    middleware.Learn
	spent    func(context.Context, SideCall)
	spawn    runs.Spawn       // nil starts no helpers
	agents   *profile.Library // nil means none
	skills   *skills.Library  // the same
	shownAt  string           // path of the skills in prompts
	after    func(time.Duration, func()) (stop func() bool)
	access   *access.Service // nil enforces no limits
	slots    chan struct{}   // one for each model call in progress; nil is unlimited
	log      *slog.Logger

	ctx  context.Context // context of background work
	stop context.CancelFunc
	work sync.WaitGroup

	guard   func() *netguard.Guard
	models  connected
	texts   texts
	windows windows
	ask     func(context.Context, config.Model) int // queries a model's window from its server; nil doesn't

	mu    sync.Mutex
	lines map[lineKey]*middleware.Breaker
}

// Options are the optional dependencies of a Builder.
type Options struct {
	// Sandbox runs commands. Without one, or with one that can't run commands, models don't get bash. The Builder
	// doesn't close it.
	Sandbox sandbox.Provider
	// Audit gets a row for each command and each refused path; it must not block. Without
	// it they are logged.
	Audit func(middleware.AuditRecord)
	// Documents returns the text of uploaded documents; nil for none.
	Documents uploads.Documents
	// Pictures makes images fit for models; nil leaves them as they are.
	Pictures uploads.Pictures
	// Guard checks the addresses of pictures that models name; nil allows public ones.
	Guard func() *netguard.Guard
	// Public checks the addresses of models marked public_only; nil allows public ones.
	Public func() *netguard.Guard
	// Tools are added to the built-in ones, which take precedence for equal names.
	Tools []*agent.Tool
	// More returns tools that may change during runs, in addition to all others, which take precedence for equal names.
	// The version changes with the tools. It is called before each model call, so it must be fast.
	More func() (tools []*agent.Tool, version uint64)
	// Browser reports whether agents have a browser; nil means no.
	Browser func() bool
	// Withdraw is called with the reason when a provider rejects a server's tool. It may be nil.
	Withdraw func(t *agent.Tool, why string)
	// Await waits for expected tools of More; it is called at the start of each run and must have a short time limit.
	// Nil doesn't wait.
	Await func(ctx context.Context)
	// Client creates a tool that the run's client executes; nil offers none.
	Client func(agent.ClientTool) *agent.Tool
	// Without returns a thread's switched-off tools; it is called at the start of each run and each helper. Nil
	// switches off none.
	Without Without
	// Model connects to a configured model. Without it the provider its entry names is used.
	Model func(config.Model) (agent.Model, error)
	// Project gives the project that a thread is in, nil for none; it is asked at the start of each run. Without it no
	// thread is in one.
	Project func(ctx context.Context, thread string) (*Project, error)
	// Knowledge searches collections of documents; nil means none. It finds collections by name that a person may read,
	// with those of the project's owner first.
	Knowledge   tools.Knowledge
	Collections func(ctx context.Context, person, owner string, names []string) ([]Collection, error)
	// Memory returns memories of the person of a turn; nil remembers nothing.
	Memory middleware.Remember
	// Learn queues a turn's conversation for the memory; nil doesn't.
	Learn middleware.Learn
	// Retitle stores a title that was generated after the end of its run; it waits until the thread is idle. Without
	// it such titles are dropped. Retitle also stores Cost, in place of Spent.
	Retitle func(ctx context.Context, thread, from, to string, cost []SideCall)
	// Titles stores titles that were generated before the first answer of a run was complete; with nil, each start of
	// a run generates one.
	Titles TitleKeeper
	// Spawn runs an agent inside another agent's call; without it there are no helpers.
	Spawn runs.Spawn
	// After calls a function after a duration, unless it is stopped; nil uses the clock. It is for the
	// limits of helpers and the wait for a model's window.
	After func(d time.Duration, f func()) (stop func() bool)
	// Agents are the custom agents; nil means none.
	Agents *profile.Library
	// Access checks permissions; nil enforces no limits.
	Access *access.Service
	// Skills are the available skills; nil for none.
	Skills *skills.Library
	// SkillsAt is the path of skills in prompts; "" is files.Skills, where they always are too.
	SkillsAt string
	// Spent records the cost of each side call; nil doesn't.
	Spent func(ctx context.Context, c SideCall)
}

// TitleKeeper keeps the title of a run's thread until the run has ended, over crashes.
type TitleKeeper interface {
	Shown(ctx context.Context, thread string) (title string) // the one in lists
	Kept(ctx context.Context, thread, run string) (title string)
	Keep(ctx context.Context, thread, run, title string) // "" forgets it
}

// Without returns a function that reports whether a tool is switched off in a thread. metadata is the thread's; nil has it
// read.
type Without func(ctx context.Context, thread string, metadata json.RawMessage) (func(*agent.Tool) bool, error)

// New returns a Builder which asks current for the configuration at each run. Its agents run no commands.
func New(current func() *config.Snapshot, dirs files.Dirs, log *slog.Logger) *Builder {
	return NewWith(current, dirs, log, Options{})
}

// NewWith is New with options.
func NewWith(current func() *config.Snapshot, dirs files.Dirs, log *slog.Logger, o Options) *Builder {
	limits := toolLimits(current().File)
	open := func(thread string) (*files.Files, error) { // a tool may be the first to need the folders
		if err := dirs.Create(thread); err != nil {
			return nil, err
		}
		return dirs.Open(thread)
	}
	b := &Builder{config: current, dirs: dirs, open: open, sandbox: o.Sandbox, audit: o.Audit, connect: o.Model,
		reads: tools.NewLocks(), spawn: o.Spawn, after: o.After, agents: o.Agents, skills: o.Skills, access: o.Access,
		shownAt: cmp.Or(o.SkillsAt, files.Skills), log: log}
	if b.docs = o.Documents; b.docs == nil {
		b.docs = uploads.NoDocuments{}
	}
	if b.show = o.Pictures; b.show == nil {
		b.show = uploads.NoPictures{}
	}
	b.named = o.Collections
	b.tools = append(tools.BuiltinWith(open, limits, b.docs, o.Knowledge), tools.Media(open, b.Media())...)
	if b.guard = o.Guard; b.guard == nil {
		b.guard = func() *netguard.Guard { return &netguard.Guard{} }
	}
	if b.audit == nil {
		b.audit = logAudit(log)
	}
	if b.after == nil {
		b.after = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if b.connect == nil {
		public := o.Public
		if public == nil {
			public = func() *netguard.Guard { return &netguard.Guard{} }
		}
		b.connect, b.ask = connecting(public)
	}
	b.connect = meter(b.connect)
	if b.spent = o.Spent; b.spent == nil {
		b.spent = func(context.Context, SideCall) {}
	}
	if b.more = o.More; b.more == nil {
		b.more = func() ([]*agent.Tool, uint64) { return nil, 0 }
	}
	if b.browser = o.Browser; b.browser == nil {
		b.browser = func() bool { return false }
	}
	if b.withdraw = o.Withdraw; b.withdraw == nil {
		b.withdraw = func(*agent.Tool, string) {}
	}
	if b.await = o.Await; b.await == nil {
		b.await = func(context.Context) {}
	}
	if b.without = o.Without; b.without == nil {
		b.without = func(context.Context, string, json.RawMessage) (func(*agent.Tool) bool, error) {
			return func(*agent.Tool) bool { return false }, nil
		}
	}
	if b.project = o.Project; b.project == nil {
		b.project = func(context.Context, string) (*Project, error) { return nil, nil }
	}
	b.memory, b.learn, b.client = o.Memory, o.Learn, o.Client
	if b.late = o.Retitle; b.late == nil {
		b.late = func(ctx context.Context, _, _, _ string, cost []SideCall) {
			for _, c := range cost {
				b.spent(context.WithoutCancel(ctx), c)
			}
		}
	}
	b.found = o.Titles
	b.lines = map[lineKey]*middleware.Breaker{}
	if n := current().File.LLMCall.Concurrent; n > 0 {
		b.slots = make(chan struct{}, n)
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	// Whether the sandbox runs anything may not be known yet.
	b.bash = sync.OnceValue(func() *agent.Tool { return tools.Bash(o.Sandbox, b.policy, open, b.resultFolder) })
	for _, t := range o.Tools {
		if t.Name == "bash" && o.Sandbox != nil ||
			slices.ContainsFunc(b.tools, func(own *agent.Tool) bool { return own.Name == t.Name }) {
			log.Warn("skipped a tool: duplicate name", "tool", t.Name)
			continue
		}
		b.tools = append(b.tools, t)
	}
	b.weights = weights{}
	for _, t := range b.tools {
		b.weights[t] = weight(t)
	}
	return b
}

// orUnlimited returns a configured limit, where 0 means none.
func orUnlimited(limit int) int {
	if limit == 0 {
		return math.MaxInt32
	}
	return limit
}

// SmallKey is the remark on a run whose model's window is too small for the whole prompt; it begins with the number of
// tokens.
const SmallKey = "small_model"

// Build implements runs.Build. It reads the configuration once, so a run keeps it.
func (b *Builder) Build(ctx context.Context, s runs.Spec) (*agent.Agent, error) {
	snap := b.config()
	may, err := b.access.Of(ctx, s.Owner)
	if err != nil {
		return nil, err
	}
	c, err := b.who(ctx, s)
	if err != nil {
		return nil, err
	}
	c.Skills = may.Narrow(access.Skill, c.Skills)
	if !s.Options.Guest {
		if c.collections, err = b.collections(ctx, s.Owner, s.Options.Knowledge, c); err != nil {
			return nil, err
		}
	}
	model, entry, err := b.model(snap, s, c, may)
	if err != nil {
		return nil, err
	}
	o := s.Options
	if err := fit(s, entry, snap.File.Runs.AllowDegradation); err != nil {
		return nil, err
	}
	off := snap.File.DisabledTools
	o.Subagents = o.Subagents && snap.File.Subagents.Enabled && !o.Guest && !slices.Contains(off, subagent.Tool)
	o.PlanMode = o.PlanMode && !slices.Contains(off, tools.WriteTodos)
	entry.ContextWindow = b.window(ctx, entry)
	b.await(ctx)
	without, err := b.lacks(ctx, snap.File, s.ThreadID, s.Metadata, may)
	if err != nil {
		return nil, err
	}
	r := b.equip(permitted(snap.File, may), *o, entry.ContextWindow, c.project.without(without))
	r.thread, r.run, r.who, r.may, r.day = s.ThreadID, s.RunID, c, may, b.dayLimit(s, s.RunID, may)
	if o.Subagents && b.spawn != nil {
		b.delegates(snap, &r, entry)
	}
	r.skills, r.off = b.skillsOf(c.Skills)
	r.manage = b.manages(snap, r, entry)
	r.narrow(b)
	if r.fit(entry); r.brief != "" {
		remark(s, SmallKey, smallNote(entry.Name, entry.ContextWindow))
	}
	return b.assemble(snap, r, model), nil
}

// lacks reports whether a tool is unavailable in a thread: it was switched off for the server or the chat, or the user
// may not use the MCP server it belongs to.
func (b *Builder) lacks(ctx context.Context, f config.File, thread string, metadata json.RawMessage,
	may access.Rights) (func(*agent.Tool) bool, error) {
	without, err := b.without(ctx, thread, metadata)
	if err != nil || len(f.DisabledTools) == 0 && !may.Limited() {
		return without, err
	}
	return func(t *agent.Tool) bool {
		return t.Server == "" && slices.Contains(f.DisabledTools, t.Name) || !mayUse(may, t) || without(t)
	}, nil
}

// assemble creates an agent from a model and its equipment.
func (b *Builder) assemble(snap *config.Snapshot, e equipment, model agent.Model) *agent.Agent {
	k := b.newKit(snap.File, e)
	o := e.options
	return &agent.Agent{
		Model:   model,
		Tools:   k.set.Tools,
		Toolset: k.step,
		Chain:   b.chain(snap, e, k),
		System:  k.set.System,
		Options: agent.ModelOptions{Thinking: o.Thinking, Effort: o.ReasoningEffort, NoImages: !o.Vision},
	}
}
