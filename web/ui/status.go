package ui

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/views"
	"fawn/views/settings"
	"fawn/web/httpx"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
)

// statusJSON is the update of a hidden page about its thread.
type statusJSON struct {
	Running bool              `json:"running"`
	State   views.ThreadState `json:"state"`
	Title   string            `json:"title"`
	Later   int               `json:"later"`            // runs that wait for their time
	Turn    string            `json:"turn,omitempty"`   // the last turn of a thread at rest, if the page asks for it
	Run     string            `json:"run,omitempty"`    // its last run
	Notice  *notice           `json:"notice,omitempty"` // the notification wanted by the reader
}

// notice is a notification in the reader's language.
type notice struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// status handles GET /ui/threads/:id/status, for pages that are not on screen, and with ?turn=1 for pages that come back to
// it. Asking is not reading: the thread stays unread.
func (u *UI) status(c echo.Context, t store.Thread) error {
	ctx := c.Request().Context()
	running := u.Runs.Active(t.ID) != "" // before the row: a run that ends meanwhile is reported the next time
	t, err := u.OwnThread(ctx, t.ID)
	if err != nil {
		return err
	}
	rows, err := u.Rows(ctx, []store.Thread{t})
	if err != nil {
		return err
	}
	n := statusJSON{Running: running, State: rows[0].State, Title: rows[0].Title, Later: len(u.Runs.Delayed(t.ID))}
	if c.QueryParam("turn") != "" && !running {
		v, err := u.Load(ctx, t.ID, "", conversation.Everything, "") // as the page shows it
		if err != nil {
			return err
		}
		if list := v.Turns.Turns; len(list) > 0 {
			n.Turn, n.Run = list[len(list)-1].ID, list[len(list)-1].Run
		}
	}
	asks, err := u.Asks(ctx, t.ID)
	if err != nil {
		return err
	}
	paused := running && slices.ContainsFunc(asks, func(q views.NetworkQuestion) bool { return q.Waiting })
	if paused {
		n.State = views.ThreadWaiting
	}
	if kind := notificationOf(n.State); (!running || paused) && kind != "" && page.ReadPrefs(c.Request()).Wants(kind) {
		n.Notice = &notice{Title: page.Say(c, "notify."+kind), Body: views.Safe(n.Title)}
		if n.Notice.Body == "" {
			n.Notice.Body = page.Say(c, "thread.untitled")
		}
	}
	return httpx.JSON(c, http.StatusOK, n)
}

// seen handles POST /ui/threads/:id/seen: the page reports that it was visible when the run ended. A stream read to its
// end doesn't prove it: the tab may have been hidden just before.
func (u *UI) seen(c echo.Context, t store.Thread) error {
	u.See(c.Request().Context(), t.ID)
	return c.NoContent(http.StatusNoContent)
}

// notificationOf returns the kind of notification that a state deserves, one of views.NotifyKinds.
func notificationOf(s views.ThreadState) string {
	switch s {
	case views.ThreadUnread:
		return views.NotifyFinished
	case views.ThreadFailed:
		return views.NotifyFailed
	case views.ThreadWaiting:
		return views.NotifyQuestion
	}
	return ""
}

// notifyOffer handles GET /ui/notifications: the offer of notifications, for a page's script after a long run.
func (u *UI) notifyOffer(c echo.Context) error {
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, settings.NotifyOffer()))
}

// delayed returns a run that waits for its time.
func (u *UI) delayed(thread, run string) (store.Run, bool) {
	for _, d := range u.Runs.Delayed(thread) {
		if d.Run.ID == run {
			return d.Run, true
		}
	}
	return store.Run{}, false
}
