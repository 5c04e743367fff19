package conversation

import (
	"context"
	"time"

	"fawn/agent"
	"fawn/agent/runs/request"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/ui/turns"
)

// Queue returns the messages that wait in a thread, oldest first, and the files they bring.
func (h *Handlers) Queue(thread string) (out []views.Queued, files []views.Attachment) {
	for _, r := range h.Runs.Waiting(thread) {
		q := views.Queued{Run: r.ID, Text: request.StartText(r)}
		for _, f := range inputFiles(r) {
			q.Files += f.Name + "\n"
			files = append(files, f)
		}
		out = append(out, q)
	}
	return out, files
}

// inputFiles returns the files that a run's message brings.
func inputFiles(r store.Run) []views.Attachment {
	var out []views.Attachment
	for _, m := range request.StartOf(r).Messages {
		if msg, err := agent.ParseMessage(m.Raw); err == nil && m.Human() {
			out = append(out, turns.UserMessage(msg).Files...)
		}
	}
	return out
}

// Later returns the runs of a thread that wait for their time.
func (h *Handlers) Later(thread string) []views.Later {
	var out []views.Later
	for _, d := range h.Runs.Delayed(thread) {
		out = append(out, views.Later{Run: d.Run.ID, Text: request.StartText(d.Run), At: d.At})
	}
	return out
}

// PutLater updates the list of delayed messages on a page.
func (h *Handlers) PutLater(ctx context.Context, f *views.Frame, thread string) error {
	return f.Put(ctx, views.SwapOuter, "later", chat.Later(thread, h.Later(thread), time.Now()))
}
