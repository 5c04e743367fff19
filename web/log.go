package web

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"fawn/agent/config"
	"fawn/store"
	"fawn/web/proxy"
	"fawn/web/redact"
)

// tailBytes is the size of the log that a server keeps in memory for support.
const tailBytes = 256 << 10

// NewLog writes lines of text to w from level info on, without secrets. A server that is opened
// with it follows log_level and logging.enhance.format of its configuration, and masks the secrets
// that are in it.
func NewLog(w io.Writer) *slog.Logger {
	h := &logHandler{tail: redact.Tail{Max: tailBytes}}
	h.out = h.secrets.Writer(io.MultiWriter(w, &h.tail))
	h.format("text")
	return slog.New(h)
}

// logHandler gets its level and format from the configuration, possibly after the first lines were written.
type logHandler struct {
	out     io.Writer
	secrets redact.Redactor
	tail    redact.Tail // the last bytes written
	level   slog.LevelVar
	form    atomic.Pointer[slog.Handler]
	node    atomic.Int64 // server id in lines, 0 for none
}

func (h *logHandler) format(name string) {
	o := &slog.HandlerOptions{Level: &h.level}
	var form slog.Handler = slog.NewTextHandler(h.out, o)
	if name == "json" {
		form = slog.NewJSONHandler(h.out, o)
	}
	h.form.Store(&form)
}

// setLevel takes a word of the configuration.
func (h *logHandler) setLevel(word string) {
	var l slog.Level
	if l.UnmarshalText([]byte(word)) == nil {
		h.level.Set(l)
	}
}

// openLog configures the format of the log.
func (i *insight) openLog(log *slog.Logger, snap *config.Snapshot) {
	if h, ok := log.Handler().(*logHandler); ok {
		h.format(snap.File.Logging.Enhance.Format)
	}
	i.followLog(log, snap)
}

// followLog takes the level, which may change while the server runs.
func (i *insight) followLog(log *slog.Logger, snap *config.Snapshot) {
	i.secrets.Know(snap.SecretValues())
	if h, ok := log.Handler().(*logHandler); ok {
		h.secrets.Know(snap.SecretValues())
		h.setLevel(snap.File.LogLevel)
	}
}

// nameNode adds the server to log lines of several servers.
func nameNode(log *slog.Logger, db *store.DB) {
	if h, ok := log.Handler().(*logHandler); ok && db.Clustered() {
		h.node.Store(db.Self())
	}
}

// traceHeader carries the id of a request, in both directions.
const traceHeader = "X-Trace-Id"

// traced logs every request under an id, the caller's own if it sends one, and answers with it.
func (a *App) traced(next echo.HandlerFunc) echo.HandlerFunc {
	plain := regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	return func(c echo.Context) error {
		r, id := c.Request(), c.Request().Header.Get(traceHeader)
		if !plain.MatchString(id) {
			id = uuid.NewString()
		}
		c.Response().Header().Set(traceHeader, id)
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		began := time.Now()
		err := next(c)
		if err != nil {
			c.Error(err) // answers, so that the status is known
		}
		line := []any{"trace_id", id, "method", r.Method, "path", r.URL.Path, "client", proxy.Of(r).IP(),
			"status", c.Response().Status, "took", time.Since(began).String()}
		if at := c.Response().Header().Get("Content-Location"); at != "" {
			line = append(line, "made", at)
		}
		a.opts.Log.Info("request", line...)
		return nil
	}
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if node := h.node.Load(); node > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int64("node", node))
	}
	return (*h.form.Load()).Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return (*h.form.Load()).WithAttrs(attrs)
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler { return (*h.form.Load()).WithGroup(name) }

// logWarnings logs each configuration warning once.
func logWarnings(log *slog.Logger, snap *config.Snapshot) {
	for _, w := range snap.Warnings {
		log.Warn("configuration", "at", w.Place(), "problem", w.Message)
	}
	for _, d := range snap.Disabled {
		log.Warn("configuration", "problem", d.String())
	}
}
