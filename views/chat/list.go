package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"fawn/views"
	"fawn/views/i18n"
)

// when returns a moment as short as it can be: the time today, the day this year.
func when(ctx context.Context, now, at time.Time) string {
	at = at.In(now.Location())
	switch views.Day(now, at) {
	case "threads.today":
		return at.Format("15:04")
	case "threads.yesterday":
		return i18n.C(ctx, "threads.yesterday") + " " + at.Format("15:04")
	}
	return at.Format("2006-01-02")
}

// errorPageKey returns the catalogue key of an error page; invalid share links have separate texts.
func errorPageKey(p views.ErrorPage) string {
	if p.Public && p.Status == 404 {
		return "error.share"
	}
	return errorKey(p.Status)
}

func errorKey(status int) string {
	switch status {
	case 404, 410:
		return "error.404"
	case 401, 403:
		return "error.403"
	case 413, 421, 507:
		return "error." + strconv.Itoa(status)
	case 429, 503:
		return "error.503"
	}
	return "error.500"
}

// rowURL returns the address of the chat, or of the message in it that a search found.
func rowURL(r views.ChatRow) string {
	if r.Message == "" {
		return views.ThreadURL(r.ID)
	}
	return views.AtURL(r.ID, r.Message)
}

type piece struct {
	text string
	hit  bool
}

// hits cuts a text at the words of a search.
func hits(text, query string) []piece {
	runes := []rune(text)
	folded := []rune(strings.Map(unicode.ToLower, text))
	on := make([]bool, len(runes))
	for w := range strings.FieldsSeq(strings.Map(unicode.ToLower, query)) {
		word := []rune(w)
		for i := 0; i+len(word) <= len(folded); i++ {
			if slices.Equal(folded[i:i+len(word)], word) {
				for j := range word {
					on[i+j] = true
				}
			}
		}
	}
	var out []piece
	for i := 0; i < len(runes); {
		j := i
		for j < len(runes) && on[j] == on[i] {
			j++
		}
		out = append(out, piece{string(runes[i:j]), on[i]})
		i = j
	}
	return out
}
