package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
	"fawn/views/layout"
	"fawn/views/markdown"
	"fawn/views/part"
)

// ThreadPage renders the whole page of a thread in the reader's language.
func ThreadPage(p views.ThreadPage) templ.Component { return i18n.In(p.Shell.Lang, threadPage(p)) }

// ComparePage renders the whole page of a comparison.
func ComparePage(p views.ComparePage) templ.Component { return i18n.In(p.Shell.Lang, comparePage(p)) }

// ColumnPage renders a chat as a column of that page.
func ColumnPage(p views.ThreadPage) templ.Component { return i18n.In(p.Shell.Lang, columnPage(p)) }

// WelcomePage renders the whole page for a new chat.
func WelcomePage(p views.WelcomePage) templ.Component { return i18n.In(p.Shell.Lang, welcomePage(p)) }

// ChatsPage renders the whole list of chats.
func ChatsPage(p views.ChatsPage) templ.Component { return i18n.In(p.Shell.Lang, chatsPage(p)) }

// MenuPage renders the menu of a chat, alone or as a whole page.
func MenuPage(p views.MenuPage) templ.Component {
	if p.Alone {
		return i18n.In(p.Shell.Lang, Menu("menu-"+p.Row.ID, p.Row, p.Restart))
	}
	return i18n.In(p.Shell.Lang, menuPage(p))
}

// TagsPage renders the tags of a chat: the inside of a dialog or a whole page.
func TagsPage(p views.TagsPage) templ.Component {
	if p.Modal {
		return i18n.In(p.Shell.Lang, tagsModal(p))
	}
	return i18n.In(p.Shell.Lang, tagsPage(p))
}

// ConfirmPage asks before a chat is deleted.
func ConfirmPage(p views.ConfirmPage) templ.Component { return i18n.In(p.Shell.Lang, confirmPage(p)) }

// noneFrom reports that no chat came from a chat app.
func noneFrom(ctx context.Context, from views.Source) string {
	if from.Label == "" {
		return i18n.C(ctx, "chats.from.none")
	}
	return part.OfApp(ctx, "chats.from.none.app", from.Label)
}

// StepPage renders one step as a whole page, for browsers without script.
func StepPage(p views.StepBody) templ.Component { return i18n.In(p.Shell.Lang, stepPage(p)) }

// ErrorPage renders a whole page for a request that went wrong.
func ErrorPage(p views.ErrorPage) templ.Component { return i18n.In(p.Shell.Lang, errorPage(p)) }

// MarkdownOptions returns the options for a Differ of a thread's text, so that its patches match the page. element is
// the id of the patched element: m-{message}, rt-{message} or nt-{message}.
func MarkdownOptions(lang, threadID, element string) markdown.Options {
	o := markdown.Options{Lang: lang, Thread: threadID, Prefix: element, Dir: "mnt/user-data/outputs"}
	if kind, message, _ := strings.Cut(element, "-"); kind != "rt" {
		o.Whole = views.SourceURL(threadID, message)
	}
	return o
}

func mdOptions(ctx context.Context, threadID, element string) markdown.Options {
	o := MarkdownOptions(i18n.Lang(ctx), threadID, element)
	o.Uploaded = markdown.UploadsOf(ctx, threadID)
	return o
}

// TurnClass returns the class of a turn's element; live, a how "class" swap sets it.
func TurnClass(s views.TurnState, last bool) string {
	if last {
		return "turn " + string(s) + " last"
	}
	return "turn " + string(s)
}

// turnsAndGaps renders the turns of a thread with the gaps between them.
func turnsAndGaps(t views.Thread) []templ.Component {
	var list []templ.Component
	for _, turn := range t.Turns {
		if turn.Gap != nil {
			list = append(list, gap(t.ID, *turn.Gap))
		}
		list = append(list, Turn(t.ID, turn))
	}
	if t.Behind != nil {
		list = append(list, gap(t.ID, *t.Behind))
	}
	return list
}

// gapID returns the id of the link to the turns just before the end of a gap.
func gapID(g views.Gap) string {
	if g.After == "" {
		return "earlier"
	}
	return "earlier-" + g.Before
}

func busy(s views.TurnState) bool { return s == views.TurnRunning || s == views.TurnQueued }

func ariaBusy(s views.TurnState) templ.Attributes {
	if busy(s) {
		return templ.Attributes{"aria-busy": "true"}
	}
	return nil
}

// headText describes how a turn ended and, if known, its duration.
func headText(ctx context.Context, t views.Turn) string {
	if t.Waits() {
		return i18n.C(ctx, "turn.waits")
	}
	key := "turn.worked"
	switch t.State {
	case views.TurnFailed:
		key = "turn.failed"
	case views.TurnStopped:
		key = "turn.stopped"
	}
	if d := views.Duration(i18n.Lang(ctx), max(t.Trail.Elapsed, t.Elapsed)); d != "" {
		return i18n.C(ctx, key, d)
	}
	return i18n.C(ctx, key+".now")
}

func failKey(family string, f *views.Failure) string {
	if f == nil {
		return family
	}
	switch f.Kind {
	case views.FailureRateLimit, views.FailureAuth, views.FailureQuota, views.FailureContext, views.FailureUnreachable,
		views.FailureCut, views.FailureLength,
		views.FailureTimeout, views.FailureStorage, views.FailureInterrupted:
		return family + "." + string(f.Kind)
	}
	return family
}

// FailureTitle describes a failure in a few words.
func FailureTitle(ctx context.Context, f *views.Failure) string {
	return i18n.C(ctx, failKey("fail.title", f))
}

func endLine(ctx context.Context, t views.Turn) string {
	var parts []string
	switch {
	case t.Waits():
		parts = append(parts, i18n.C(ctx, "turn.waits"))
	case t.State == views.TurnDone && t.Elapsed > 0:
		parts = append(parts, i18n.C(ctx, "turn.done", views.Duration(i18n.Lang(ctx), t.Elapsed)))
	}
	if t.Tokens > 0 {
		parts = append(parts, i18n.C(ctx, "turn.tokens", views.Number(t.Tokens)))
	}
	if t.Model != "" {
		parts = append(parts, layout.Model(ctx, t.Model, ""))
	}
	return strings.Join(parts, " · ")
}

// ratingAfter returns the rating after pressing a thumb: pressing the current one clears it.
func ratingAfter(now, thumb int) string {
	if now == thumb {
		return "0"
	}
	return strconv.Itoa(thumb)
}

// Source is a page that an answer cites.
type Source struct {
	markdown.Source
	Number int  // number in the thread; 0 if no result gave it one
	Opened bool // a tool opened it, so the answer may rely on it
}

// Name returns the title of the page, or its address.
func (s Source) Name() string {
	if s.Title != "" {
		return s.Title
	}
	return s.URL
}

// SourcesOf returns the pages cited by a turn's answer, by their numbers in the thread. Pages without a number come
// last; if none has one they are counted.
func SourcesOf(t views.Turn) []Source {
	var list []Source
	for _, s := range markdown.Sources(t.Answer.Text) {
		key := views.PageKey(s.URL)
		list = append(list, Source{s, t.Numbers[key], t.Opened[key]})
	}
	slices.SortStableFunc(list, func(a, b Source) int {
		if a.Opened != b.Opened {
			if a.Opened {
				return -1
			}
			return 1
		}
		if (a.Number == 0) != (b.Number == 0) {
			return b.Number - a.Number
		}
		return a.Number - b.Number
	})
	if !slices.ContainsFunc(list, func(s Source) bool { return s.Number > 0 }) {
		for i := range list {
			list[i].Number = i + 1
		}
	}
	return list
}

// tall reports whether a message of the reader is folded: it has many lines or words.
func tall(text string) bool { return len(text) > 2000 || strings.Count(text, "\n") > 24 }

// SourcesText counts the pages cited by an answer, and those cited without having been opened by a tool.
func SourcesText(lang string, list []Source) string {
	opened := 0
	for _, s := range list {
		if s.Opened {
			opened++
		}
	}
	var parts []string
	if opened > 0 {
		parts = append(parts, i18n.Count(lang, "turn.sources", opened))
	}
	if left := len(list) - opened; left > 0 {
		parts = append(parts, i18n.Count(lang, "turn.unopened", left))
	}
	return strings.Join(parts, " · ")
}

func unixMilli(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// clock writes the time since a moment as 0:42.
func clock(since time.Time) string {
	n := max(0, int(time.Since(since).Seconds()))
	s := strconv.Itoa(n % 60)
	if n%60 < 10 {
		s = "0" + s
	}
	return strconv.Itoa(n/60) + ":" + s
}
