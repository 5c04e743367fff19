package ui

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/lead"
	"fawn/agent/runs"
	"fawn/store"
	"fawn/views"
	"fawn/views/chat"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/conversation"
	"fawn/web/ui/page"
)

// Aside makes side calls of models.
type Aside interface {
	Suggest(ctx context.Context, w lead.SuggestWish) ([]string, error)
}

// followUp handles POST /ui/threads/:id/followups: the page requests suggestions below the last answer if there are
// none yet. They are optional: errors leave none.
func (u *UI) followUp(c echo.Context, t store.Thread) error {
	ctx, done := httpx.Until(c.Request().Context(), u.Draining, runs.ErrClosed)
	defer done()
	turn, err := u.followed(ctx, t.ID)
	switch {
	case errors.Is(context.Cause(ctx), runs.ErrClosed): // the reader left, so no response is needed
		return c.NoContent(http.StatusNoContent)
	case err != nil:
		return err
	case !page.WantsFragment(c.Request()):
		return c.Redirect(http.StatusSeeOther, views.ThreadURL(t.ID))
	}
	return page.HTML(c, http.StatusOK, page.InLang(page.ReadPrefs(c.Request()).Lang, chat.Followups(t.ID, turn)))
}

// followed returns the thread's last turn with its suggestions, created and stored at the first request.
func (u *UI) followed(ctx context.Context, id string) (views.Turn, error) {
	leave, err := u.suggesting.enter(ctx, id) // pages side by side ask once
	if err != nil {
		return views.Turn{}, err
	}
	defer leave()
	v, err := u.Load(ctx, id, "", conversation.Everything, "")
	if err != nil {
		return views.Turn{}, err
	}
	turns := v.Scene(false).Turns
	if len(turns) == 0 {
		return views.Turn{}, store.ErrNotFound
	}
	last := turns[len(turns)-1]
	if !last.Next.Ask {
		return last, nil
	}
	made := conversation.Followups{After: last.Answer.ID, List: u.suggest(ctx, v, turns)}
	if ctx.Err() != nil { // the page left: the next one asks again
		return views.Turn{}, context.Cause(ctx)
	}
	merge, err := agent.Encode(map[string]any{conversation.FollowupsKey: made})
	if err != nil {
		return views.Turn{}, err
	}
	last.Next = views.Followups{List: made.List}
	return last, u.DB.Commit(ctx, store.Batch{ThreadID: id, Patch: &store.ThreadPatch{Merge: merge}})
}

// suggest uses only the thread's model, since others shouldn't see the conversation.
func (u *UI) suggest(ctx context.Context, v *conversation.View, turns []views.Turn) []string {
	ch, _ := choiceOf(v.Thread)
	ch, _ = u.possible(ctx, ch)
	wish := lead.SuggestWish{Owner: principal.Owner(ctx), Thread: v.Thread.ID, Model: ch.Model,
		N: min(conversation.MaxFollowups, u.Config.Current().File.Suggestions.MaxSuggestions)}
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
		u.Log.Warn("couldn't make suggestions", "thread", v.Thread.ID, "err", err)
	}
	return append([]string{}, list[:min(len(list), wish.N)]...)
}

// turnstile admits one caller at a time for each name.
type turnstile struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// enter waits for exclusive access to a name.
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
