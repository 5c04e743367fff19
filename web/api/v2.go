package api

import (
	"context"

	"github.com/labstack/echo/v4"

	"fawn/agent/runs"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/principal"
	"fawn/web/route"
)

// The thread-centric protocol of the newer SDKs: commands by POST, and one stream of events
// which stays open from run to run.

// threadEvents streams the events of a thread until the client leaves.
func (m mount) threadEvents(c echo.Context, id string) error {
	var f wire.Filter
	if err := m.Bind(c, &f); err != nil {
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
	release, err := m.Readers.Acquire(m.Limits().MaxReaders)
	if err != nil {
		return err
	}
	defer release()
	ctx, done := m.UntilDrained(c.Request().Context())
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
	err = m.tell(ctx, id, reader, &f, after, func(p *wire.ProtocolEncoder, flush bool) error { return p.Send(out, flush) })
	return unlessLeft(c, err)
}

// tell sends one run after the other. A thread created after its reader arrived may belong to another user.
func (m mount) tell(ctx context.Context, id string, reader *runs.ThreadReader, f *wire.Filter, after httpx.ID,
	send func(p *wire.ProtocolEncoder, flush bool) error) error {
	for {
		run, err := reader.Next(ctx)
		if err != nil {
			return err
		}
		if run == nil { // a title: state.get has it
			continue
		}
		if _, err := m.DB.ThreadOf(ctx, principal.Owner(ctx), id); err != nil {
			return err
		}
		p := wire.NewProtocolEncoder(m.DB, run.Run(), f, after)
		for at := int64(0); ; {
			events, err := run.Next(ctx, at)
			if err != nil {
				return err
			}
			if len(events) == 0 {
				break
			}
			for _, ev := range events {
				if err := p.Add(ctx, ev); err != nil {
					return err
				}
				if p.Len() > writeAt {
					if err := send(p, false); err != nil {
						return err
					}
				}
			}
			at = events[len(events)-1].To
			if err := send(p, true); err != nil {
				return err
			}
		}
	}
}

// describeV2 returns the routes of the thread-centric protocol.
func describeV2() []o.Op {
	const tag = "Thread protocol"
	reply := o.AnyOf(o.Of[commandResult](o.Is("type", o.Enum("success")), o.Is("result", o.Map(nil))),
		o.Of[commandRefusal](o.Is("type", o.Enum("error"))))
	return []o.Op{
		{ID: "sendCommand", Tag: tag, Text: "Start a run, answer a question, or read and fork state",
			More: "Methods: run.start, input.respond, state.get, state.listCheckpoints, state.fork, agent.getTree. A rejected command returns type error.",
			Need: true, Lazy: true, Body: o.Reads[command](o.Req("id", o.Int(0)), o.Req("method", o.String()),
				o.Is("params", o.Map(nil))), Out: route.Answered("The result", reply)},
		{ID: "followThread", Tag: tag, Text: "Follow a thread across runs until the client disconnects",
			More: "Channels: values, updates, messages, tools, custom, lifecycle, input, checkpoints. Starts with the last run, or after since.",
			Need: true, Lazy: true, Body: o.Reads[wire.Filter](o.Req("channels", o.List(o.String())),
				o.Is("depth", o.Int(0)), o.Is("since", o.Int(0))),
			Out: route.Streamed(), Endless: true},
		{ID: "openThreadSocket", Tag: tag, Text: "Open a WebSocket with commands and events of a thread",
			More: "Messages are JSON: commands as for sendCommand, with subscription.subscribe and subscription.unsubscribe " +
				"beside them, their answers, and events.",
			Lazy: true, Out: []o.Answer{{Status: 101, Text: "The socket is open"}}, Fail: []int{403, 426}},
	}
}
