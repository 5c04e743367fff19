package api

import (
	"context"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

// threadModes are the modes requested by a reader of a whole thread.
type threadModes struct {
	runs  bool // uses each run's own requested modes
	state bool // the state after each step
}

func parseThreadModes(names []string) (set threadModes, err error) {
	if len(names) == 0 {
		return threadModes{runs: true}, nil
	}
	for _, name := range names {
		switch name {
		case "run_modes":
			set.runs = true
		case "state_update":
			set.state = true
		case "lifecycle": // start and end events are always sent
		default:
			return set, httpx.Invalid("query", "stream_mode",
				"unknown mode %q (want run_modes, lifecycle or state_update)", route.Cut(name, 40))
		}
	}
	return set, nil
}

// of returns the modes in which one run is shown.
func (s threadModes) of(r store.Run) (set wire.Modes, err error) {
	if s.runs {
		set, err = parseModes(modesOf(r))
	}
	if s.state {
		set |= wire.ModeValues
	}
	return set, err
}

// threadStream sends the runs of a thread one after the other until the client leaves: from the client's last event on,
// else the current run and later ones. Each run ends with run_done.
func (m mount) threadStream(c echo.Context, t store.Thread) error {
	set, err := parseThreadModes(httpx.List(c.QueryParams(), "stream_mode"))
	if err != nil {
		return err
	}
	release, err := m.Readers.Acquire(m.Limits().MaxReaders)
	if err != nil {
		return err
	}
	defer release()
	ctx, done := m.UntilDrained(c.Request().Context())
	defer done()
	after, from := httpx.ID{}, int64(1) // from: runs that ended before it are over
	if last := c.Request().Header.Get("Last-Event-ID"); last == "" {
		if from, err = m.DB.LastSeq(ctx, t.ID); err != nil {
			return err
		}
	} else if after = httpx.ParseID(last); after.Seq > 0 {
		from = after.Seq
	}
	reader, err := m.Runs.FollowThread(ctx, t.ID, from)
	if err != nil {
		return err
	}
	out, err := httpx.NewStream(c.Response(), m.beat)
	if err != nil {
		return err
	}
	defer out.Close()
	err = m.runByRun(ctx, out, reader, set, after)
	return unlessLeft(c, err)
}

func (m mount) runByRun(ctx context.Context, out *httpx.Stream, thread *runs.ThreadReader, set threadModes,
	after httpx.ID) error {
	for {
		reader, err := thread.Next(ctx)
		if err != nil {
			return err
		}
		if reader == nil {
			if err := retitled(out, set, thread.Title()); err != nil {
				return err
			}
			continue
		}
		r := reader.Run()
		modes, err := set.of(r)
		if err != nil {
			return err
		}
		e := wire.NewEncoder(m.DB, r, modes, strings.Contains(string(r.Kwargs), `"stream_subgraphs":true`), after)
		e.Among()
		if err := m.pump(ctx, out, reader, e); err != nil {
			return err
		}
	}
}

// retitled sends a title that arrived after its run's end. It isn't an event of a run, so it has no id for resuming.
func retitled(out *httpx.Stream, set threadModes, title string) error {
	if !set.runs && !set.state {
		return nil
	}
	body, err := agent.Encode(map[string]any{"update": map[string]any{"title": title}})
	if err != nil {
		return err
	}
	return out.Write([]byte("event: updates\ndata: "+string(body)+"\n\n"), true)
}
