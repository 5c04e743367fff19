package ui

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/lead"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/page"
)

// Aside makes model calls beside the answers of runs.
type Aside interface {
	Suggest(ctx context.Context, w lead.SuggestWish) ([]string, error)
}

// followupsKey is where a thread's metadata keeps what was suggested under its last answer,
// so that no model is asked twice about one answer.
const followupsKey = "fawn_followups"

// Bounds of what is shown of them; clients may write metadata, too.
const (
	maxFollowups     = 3
	maxFollowupBytes = 800
)

// followups are suggestions made after an answer. An empty list says that there are none.
type followups struct {
	After string   `json:"after"` // id of the answer
	List  []string `json:"list"`
}

func followupsOf(t store.Thread) followups {
	var meta struct {
		Made followups `json:"fawn_followups"`
	}
	if json.Unmarshal(t.Metadata, &meta) != nil {
		return followups{}
	}
	f := meta.Made
	f.List = f.List[:min(len(f.List), maxFollowups)]
	for i := range f.List {
		f.List[i] = page.Head(f.List[i], maxFollowupBytes)
	}
	return f
}

// next is what is suggested under a turn: only under the last one, when it ended with an
// answer and nothing waits.
func (v *conversation) next(t *views.Turn) views.Followups {
	if !v.suggests || !t.Last || t.State != views.TurnDone || t.User == nil || t.Answer == nil || v.asking ||
		v.running() || len(v.queue) > 0 {
		return views.Followups{}
	}
	made := followupsOf(v.thread)
	if made.After != t.Answer.ID {
		return views.Followups{Ask: true}
	}
	return views.Followups{List: made.List}
}

// followUp is POST /ui/threads/:id/followups: the page asks for suggestions under the last
// answer when none were made yet. They are optional: what goes wrong leaves none.
func (u *UI) followUp(c echo.Context, t store.Thread) error {
	id := t.ID
	ctx, done := httpx.Until(c.Request().Context(), u.Draining, errGone)
	defer done()
	leave, err := u.suggesting.enter(ctx, id) // pages side by side ask once
	if err != nil {
		return err
	}
	defer leave()
	v, err := u.load(ctx, id, "", everything, "")
	if err != nil {
		return err
	}
	turns := v.scene(false).turns
	if len(turns) == 0 {
		return store.ErrNotFound
	}
	last := &turns[len(turns)-1]
	if last.Next.Ask {
		made := followups{After: last.Answer.ID, List: u.suggest(ctx, v, turns)}
		if ctx.Err() != nil { // the page left: the next one asks again
			return context.Cause(ctx)
		}
		merge, err := agent.Encode(map[string]any{followupsKey: made})
		if err != nil {
			return err
		}
		if err := u.DB.Commit(ctx, store.Batch{ThreadID: id, Patch: &store.ThreadPatch{Merge: merge}}); err != nil {
			return err
		}
		last.Next = views.Followups{List: made.List}
	}
	if !page.WantsFragment(c.Request()) {
		return c.Redirect(http.StatusSeeOther, views.ThreadURL(id))
	}
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.Followups(id, *last)))
}

// suggest asks the model of the thread, and no other: what was said to it is its to know.
func (u *UI) suggest(ctx context.Context, v *conversation, turns []views.Turn) []string {
	ch, _ := choiceOf(v.thread)
	ch, _ = u.possible(ch)
	wish := lead.SuggestWish{Owner: principal.Owner(ctx), Thread: v.thread.ID, Model: ch.Model,
		N: min(maxFollowups, u.Config.Current().File.Suggestions.MaxSuggestions)}
	for _, t := range turns {
		if t.User != nil {
			wish.Messages = append(wish.Messages, lead.Said{Role: "user", Content: t.User.Text})
		}
		if t.Answer != nil {
			wish.Messages = append(wish.Messages, lead.Said{Role: "assistant", Content: t.Answer.Text})
		}
	}
	list, err := u.Aside.Suggest(ctx, wish)
	if err != nil && ctx.Err() == nil {
		u.Log.Warn("no suggestions could be made", "thread", v.thread.ID, "err", err)
	}
	return append([]string{}, list[:min(len(list), wish.N)]...)
}

// turnstile lets one at a time through for each name.
type turnstile struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// enter waits until nobody else of that name is in.
func (s *turnstile) enter(ctx context.Context, name string) (leave func(), err error) {
	for {
		s.mu.Lock()
		busy := s.held[name]
		if busy == nil {
			if s.held == nil {
				s.held = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			s.held[name] = mine
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				delete(s.held, name)
				s.mu.Unlock()
				close(mine)
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
