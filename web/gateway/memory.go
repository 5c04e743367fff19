package gateway

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/memory"
	"fawn/store"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// onMemory returns the handler of a route of the memory. revision is the expected one of a change, 0
// for any.
func (g *Gateway) onMemory(h func(c echo.Context, owner string, at memory.At) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		revision, err := httpx.Int(c.QueryParams(), "revision", 0, 0, math.MaxInt)
		if err != nil {
			return err
		}
		return memoryError(h(c, g.Owner(c), memory.At(revision)), c.Param("fact"))
	}
}

// memoryError words an error of the memory.
func memoryError(err error, id string) error {
	var bad *memory.DocumentError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, memory.ErrNotFound):
		return httpx.Errorf(http.StatusNotFound, "Memory fact '%s' not found", route.Cut(id, 80))
	case errors.Is(err, memory.ErrDuplicate), errors.Is(err, memory.ErrEvicted), errors.Is(err, memory.ErrChanged):
		return httpx.Errorf(http.StatusConflict, "%s", err.Error())
	case errors.As(err, &bad):
		return httpx.Errorf(http.StatusBadRequest, "%s", bad.Error())
	}
	return err
}

func (g *Gateway) memory(c echo.Context, owner string, _ memory.At) error {
	d, err := g.Memory.Document(c.Request().Context(), owner)
	return answerMemory(c, d, err)
}

func answerMemory(c echo.Context, d memory.Document, err error) error {
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, d)
}

// reloadMemory handles POST /memory/reload. An unreadable file is a server error.
func (g *Gateway) reloadMemory(c echo.Context, owner string, _ memory.At) error {
	d, err := g.Memory.Reload(c.Request().Context(), owner)
	var bad *memory.DocumentError
	if errors.As(err, &bad) {
		return httpx.Errorf(http.StatusInternalServerError, "memory.json can't be read, so nothing was changed: %s",
			bad.Error())
	}
	return answerMemory(c, d, err)
}

func (g *Gateway) clearMemory(c echo.Context, owner string, at memory.At) error {
	d, err := g.Memory.Clear(c.Request().Context(), owner, at)
	return answerMemory(c, d, err)
}

func (g *Gateway) importMemory(c echo.Context, owner string, at memory.At) error {
	body, err := httpx.Body(c.Request(), g.BodyLimit())
	if err != nil {
		return err
	}
	var object map[string]json.RawMessage
	if err := httpx.Decode(body, &object); err != nil {
		return err
	}
	if len(object) == 0 { // clearing has its own route
		return httpx.Invalid("body", "facts", "the document is empty")
	}
	d, err := memory.Parse(body)
	if err != nil {
		return err
	}
	d, err = g.Memory.Import(c.Request().Context(), owner, at, d)
	return answerMemory(c, d, err)
}

// factBody is the body of addFact.
type factBody struct {
	Content    *string `json:"content"`
	Category   string  `json:"category"`
	Confidence float64 `json:"confidence"`
}

func (g *Gateway) addFact(c echo.Context, owner string, at memory.At) error {
	b := factBody{Category: memory.CategoryDefault, Confidence: 0.5}
	if err := g.Bind(c, &b); err != nil {
		return err
	}
	if b.Content == nil || *b.Content == "" {
		return httpx.Invalid("body", "content", "a fact needs content")
	}
	if err := checkConfidence(b.Confidence); err != nil {
		return err
	}
	d, err := g.Memory.Add(c.Request().Context(), owner, at,
		memory.Fact{Content: *b.Content, Category: b.Category, Confidence: b.Confidence})
	return answerMemory(c, d, err)
}

// factChange is the body of changeFact.
type factChange struct {
	Content    *string  `json:"content"`
	Category   *string  `json:"category"`
	Confidence *float64 `json:"confidence"`
	Revision   int64    `json:"revision"`
}

func (g *Gateway) changeFact(c echo.Context, owner string, at memory.At) error {
	var b factChange
	if err := g.Bind(c, &b); err != nil {
		return err
	}
	if b.Confidence != nil {
		if err := checkConfidence(*b.Confidence); err != nil {
			return err
		}
	}
	d, err := g.Memory.Change(c.Request().Context(), owner, at, c.Param("fact"),
		memory.Edit{Content: b.Content, Category: b.Category, Confidence: b.Confidence, Revision: b.Revision})
	return answerMemory(c, d, err)
}

func checkConfidence(v float64) error {
	if v < 0 || v > 1 {
		return httpx.Invalid("body", "confidence", "must be between 0 and 1")
	}
	return nil
}

func (g *Gateway) deleteFact(c echo.Context, owner string, at memory.At) error {
	d, err := g.Memory.Delete(c.Request().Context(), owner, at, c.Param("fact"))
	return answerMemory(c, d, err)
}

// memoryConfigJSON has the flat keys of older versions and today's nested ones. It never contains a
// key.
type memoryConfigJSON struct {
	Enabled         bool           `json:"enabled"`
	StoragePath     string         `json:"storage_path"`
	Debounce        float64        `json:"debounce_seconds"`
	MaxFacts        int            `json:"max_facts"`
	Confidence      float64        `json:"fact_confidence_threshold"`
	Inject          bool           `json:"injection_enabled"`
	InjectTokens    int            `json:"max_injection_tokens"`
	Mode            string         `json:"mode"`
	ShutdownTimeout float64        `json:"shutdown_flush_timeout_seconds"`
	ManagerClass    string         `json:"manager_class"`
	Backend         map[string]any `json:"backend_config"`
}

func memoryConfigOf(c config.Memory) memoryConfigJSON {
	b := c.Backend
	model := map[string]any{"provider": route.TextOrNull(b.Model.Provider), "model": route.TextOrNull(b.Model.Model),
		"temperature": b.Model.Temperature}
	return memoryConfigJSON{c.Enabled, b.StoragePath, b.Debounce.Seconds(), b.MaxFacts, b.FactConfidenceThreshold,
		c.InjectionEnabled, b.MaxInjectionTokens,
		c.Mode, 0, "deermem", map[string]any{
			"storage_path": b.StoragePath, "debounce_seconds": b.Debounce.Seconds(), "queue_max_depth": b.QueueMaxDepth,
			"model": model, "model_name": route.TextOrNull(b.ModelName),
			"max_facts": b.MaxFacts, "fact_confidence_threshold": b.FactConfidenceThreshold,
			"max_injected_facts":   b.MaxInjectedFacts,
			"max_injection_tokens": b.MaxInjectionTokens, "guaranteed_categories": b.GuaranteedCategories,
			"guaranteed_token_budget":  b.GuaranteedTokenBudget,
			"staleness_review_enabled": b.StalenessReviewEnabled, "staleness_age_days": b.StalenessAgeDays,
			"staleness_min_candidates":         b.StalenessMinCandidates,
			"staleness_max_removals_per_cycle": b.StalenessMaxRemovalsPerCycle,
			"staleness_protected_categories":   b.StalenessProtectedCategories,
		}}
}

func (g *Gateway) memoryConfig(c echo.Context, _ string, _ memory.At) error {
	return httpx.JSON(c, http.StatusOK, memoryConfigOf(g.Config().File.Memory))
}

// memoryStatusJSON is the configuration of the memory, and its content.
type memoryStatusJSON struct {
	Config memoryConfigJSON `json:"config"`
	Data   memory.Document  `json:"data"`
}

func (g *Gateway) memoryStatus(c echo.Context, owner string, _ memory.At) error {
	d, err := g.Memory.Document(c.Request().Context(), owner)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, memoryStatusJSON{memoryConfigOf(g.Config().File.Memory), d})
}

// memorySwitchJSON says whether chats of the user have to do with memory.
type memorySwitchJSON struct {
	Enabled bool `json:"enabled"`
}

func (g *Gateway) memorySwitch(c echo.Context, owner string, _ memory.At) error {
	muted, err := g.Memory.Muted(c.Request().Context(), owner)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, memorySwitchJSON{!muted})
}

func (g *Gateway) putMemorySwitch(c echo.Context, owner string, at memory.At) error {
	var b enabledBody
	if err := g.Bind(c, &b); err != nil {
		return err
	}
	if b.Enabled == nil {
		return httpx.Invalid("body", "enabled", "must be true or false")
	}
	if err := g.Memory.SetMuted(c.Request().Context(), owner, !*b.Enabled); err != nil {
		return err
	}
	return g.memorySwitch(c, owner, at)
}

// enabledBody is the body of requests that turn something on or off.
type enabledBody struct {
	Enabled *bool `json:"enabled"`
}

// threadMemoryJSON is a thread's use of memory.
type threadMemoryJSON struct {
	Enabled bool `json:"enabled"`
	Facts   int  `json:"facts"` // facts learned from it
}

func (g *Gateway) threadMemory(c echo.Context, t store.Thread) error {
	ctx := c.Request().Context()
	off, err := g.Memory.Off(ctx, t.ID)
	if err != nil {
		return err
	}
	n, err := g.Memory.Taught(ctx, t.Owner, t.ID)
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, threadMemoryJSON{!off, n})
}

func (g *Gateway) putThreadMemory(c echo.Context, t store.Thread) error {
	var b enabledBody
	if err := g.Bind(c, &b); err != nil {
		return err
	}
	if b.Enabled == nil {
		return httpx.Invalid("body", "enabled", "must be true or false")
	}
	if err := g.Memory.SetOff(c.Request().Context(), t.ID, !*b.Enabled); err != nil {
		return err
	}
	return g.threadMemory(c, t)
}

// forgetThread handles DELETE /threads/:tid/memory: it deletes the facts learned from the thread.
func (g *Gateway) forgetThread(c echo.Context, t store.Thread) error {
	if _, err := g.Memory.Forget(c.Request().Context(), t.Owner, t.ID); err != nil {
		return err
	}
	return g.threadMemory(c, t)
}

// describeMemory describes the routes of the user's memory.
func describeMemory() []o.Op {
	const tag = "Memory"
	at := []o.Param{{Name: "revision", Schema: o.Schema{"type": "integer", "minimum": 0},
		Text: "The revision that the change is meant for; if the memory has another by now, the answer is 409"}}
	document := o.Body(o.Opt("user", o.Map(o.Map(nil))), o.Opt("history", o.Map(o.Map(nil))),
		o.Opt("facts", o.List(o.Object(o.Req("content", o.String())))))
	one := route.Answered("The memory", o.Ref("Memory"))
	thread := route.Answered("The switch, and how many facts came from the thread", o.Ref("ThreadMemory"))
	on := o.Reads[enabledBody](o.Req("enabled", o.Bool()))
	return []o.Op{
		{ID: "getMemory", Tag: tag, Text: "Get what is remembered about the user",
			More: "Facts of custom agents aren't part of it.", Out: one},
		{ID: "reloadMemory", Tag: tag, Text: "Import memory.json if it has changed",
			More: "It replaces what is remembered. A file that can't be read is a 500, and changes nothing.",
			Out:  one, Fail: []int{409}},
		{ID: "clearMemory", Tag: tag, Text: "Forget everything", More: "Facts of custom agents too. Memories of projects stay.", Query: at,
			Out: one, Fail: []int{409}},
		{ID: "exportMemory", Tag: tag, Text: "Export the memory", Out: one},
		{ID: "importMemory", Tag: tag, Text: "Replace the memory by a document",
			More: "Such as DeerFlow's memory.json. The revision inside is ignored.", Query: at, Need: true,
			Body: document, Out: one, Fail: []int{400, 409}},
		{ID: "addFact", Example: `{"content": "Prefers short answers", "category": "preference", "confidence": 0.9}`, Tag: tag, Text: "Remember a fact",
			More: "409 if it is already remembered, or the memory is full of facts with higher confidence.", Query: at, Need: true,
			Body: o.Reads[factBody](o.Req("content", o.String())),
			Out:  one, Fail: []int{400, 409}},
		{ID: "changeFact", Tag: tag, Text: "Change a fact; absent fields stay",
			More: "With revision, 409 unless the fact still has it.", Query: at,
			Body: o.Reads[factChange](), Out: one,
			Fail: []int{400, 409}},
		{ID: "deleteFact", Tag: tag, Text: "Forget a fact", Query: at, Out: one, Fail: []int{409}},
		{ID: "getMemoryConfig", Tag: tag, Text: "Get the configuration of the memory", More: "Without API keys.",
			Out: route.Answered("The configuration", o.Of[memoryConfigJSON](o.Is("backend_config", o.Map(nil))))},
		{ID: "getMemoryStatus", Tag: tag, Text: "Get configuration and memory together",
			Out: route.Answered("Both", o.Of[memoryStatusJSON](o.Is("config", o.Of[memoryConfigJSON](o.Is("backend_config", o.Map(nil)))), o.Is("data", o.Ref("Memory"))))},
		{ID: "getMemorySwitch", Tag: tag, Text: "Tell whether the user's threads use the memory",
			Out: route.Answered("The switch", o.Of[memorySwitchJSON]())},
		{ID: "putMemorySwitch", Tag: tag, Text: "Switch the memory of all threads of the user",
			More: "Off, no thread teaches or recalls anything, and what is remembered stays. The configuration wins.", Need: true,
			Body: on, Out: route.Answered("The switch", o.Of[memorySwitchJSON]())},
		{ID: "getThreadMemory", Tag: tag, Text: "Tell whether a thread uses the memory", Out: thread},
		{ID: "putThreadMemory", Tag: tag, Text: "Switch the memory of a thread",
			More: "A thread without it neither teaches nor recalls anything.", Need: true,
			Body: on, Out: thread},
		{ID: "forgetThread", Tag: tag, Text: "Forget what a thread taught", Out: thread},
	}
}

// memorySchemas returns the schemas of describeMemory.
func memorySchemas() map[string]o.Schema {
	section := o.Of[memory.Section]()
	sections := func(names ...string) o.Schema {
		var props []o.Prop
		for _, name := range names {
			props = append(props, o.Req(name, section))
		}
		return o.Object(props...)
	}
	whole := o.Schema{"type": "integer"}
	fact := o.Object(o.Req("id", o.String()), o.Req("content", o.String()), o.Req("category", o.String()),
		o.Req("confidence", o.Number()), o.Req("createdAt", o.String()),
		o.Req("source", o.String()), o.Opt("sourceMessage", o.String()), o.Opt("sourceError", o.String()),
		o.Opt("expected_valid_days", whole), o.Opt("updatedAt", o.String()), o.Opt("revision", whole))
	return map[string]o.Schema{
		"Memory": o.Object(o.Req("version", o.String()), o.Req("revision", whole), o.Req("lastUpdated", o.String()),
			o.Req("user", sections("workContext", "personalContext", "topOfMind")),
			o.Req("history", sections("recentMonths", "earlierContext", "longTermBackground")),
			o.Req("facts", o.List(fact))),
		"ThreadMemory": o.Of[threadMemoryJSON](),
	}
}
