package api

import (
	"context"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/agent/runs"
	"fawn/web/httpx"
)

// The thread-centric protocol of the newer SDKs: commands by POST, and one stream of events
// which stays open from run to run.

// filter is what one reader of a thread's events wants.
type filter struct {
	Channels   []string   `json:"channels"`
	Namespaces [][]string `json:"namespaces"`
	Depth      *int       `json:"depth"`
	Since      *int64     `json:"since"`
}

// wants tells whether an event of a channel at a place in the tree is asked for.
func (f *filter) wants(channel string, ns []string) bool {
	group, _, _ := strings.Cut(channel, ":")
	if !slices.Contains(f.Channels, channel) && !slices.Contains(f.Channels, group) {
		return false
	}
	if len(f.Namespaces) == 0 {
		return true
	}
	return slices.ContainsFunc(f.Namespaces, func(prefix []string) bool {
		return below(ns, prefix) && (f.Depth == nil || len(ns)-len(prefix) <= *f.Depth)
	})
}

// below tells whether ns begins with prefix. A segment of the prefix without a colon also
// stands for every segment of that name.
func below(ns, prefix []string) bool {
	if len(prefix) > len(ns) {
		return false
	}
	for i, want := range prefix {
		name, _, _ := strings.Cut(ns[i], ":")
		if ns[i] != want && (strings.Contains(want, ":") || name != want) {
			return false
		}
	}
	return true
}

// threadEvents streams the events of a thread until the client leaves.
func (m mount) threadEvents(c echo.Context, id string) error {
	var f filter
	if err := m.bind(c, &f); err != nil {
		return err
	}
	switch {
	case len(f.Channels) == 0:
		return httpx.Invalid("body", "channels", "want a list of at least one channel")
	case f.Depth != nil && *f.Depth < 0:
		return httpx.Invalid("body", "depth", "want a whole number from 0")
	case f.Since != nil && *f.Since < 0:
		return httpx.Invalid("body", "since", "want a whole number from 0")
	}
	after := httpx.ParseID(c.Request().Header.Get("Last-Event-ID"))
	if f.Since != nil {
		after = httpx.ID{Seq: *f.Since, Part: httpx.LastPart}
	}
	release, err := m.Readers.Acquire(m.limits().MaxReaders)
	if err != nil {
		return err
	}
	defer release()
	ctx, done := m.draining(c.Request().Context())
	defer done()
	from := after.Seq
	if from > 1 && after.Part < httpx.LastPart {
		from-- // the last of several frames about a run's end may be missing
	}
	reader, err := m.Runs.FollowThread(ctx, id, from)
	if err != nil {
		return err
	}
	out, err := httpx.NewStream(c.Response(), m.beat)
	if err != nil {
		return err
	}
	defer out.Close()
	err = m.tell(ctx, out, reader, &f, after)
	return unlessLeft(c, err)
}

// tell sends one run after the other.
func (m mount) tell(ctx context.Context, out *httpx.Stream, thread *runs.ThreadReader, f *filter, after httpx.ID) error {
	for {
		run, err := thread.Next(ctx)
		if err != nil {
			return err
		}
		if run == nil { // a title: state.get has it
			continue
		}
		t := newProtocolEncoder(m.API, run.Run(), f, after)
		for at := int64(0); ; {
			events, err := run.Next(ctx, at)
			if err != nil {
				return err
			}
			if len(events) == 0 {
				break
			}
			for _, ev := range events {
				if err := t.add(ctx, ev); err != nil {
					return err
				}
				if len(t.buf) > writeAt {
					if err := t.send(out, false); err != nil {
						return err
					}
				}
			}
			at = events[len(events)-1].To
			if err := t.send(out, true); err != nil {
				return err
			}
		}
	}
}
