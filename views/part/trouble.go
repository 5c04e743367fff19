package part

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"fawn/views"
	"fawn/views/i18n"
)

// TroubleText returns the cause and remedy of a trouble: the app's texts in the catalogue, else the general ones.
func TroubleText(ctx context.Context, t views.Trouble) string {
	key := "channels.cause." + t.Cause
	if t.Need != "" && known(ctx, key+".need."+t.App) {
		need := views.Safe(t.Need)
		if field := "channels.field." + t.Need; known(ctx, field) {
			need = i18n.C(ctx, field)
		}
		return i18n.C(ctx, key+".need."+t.App, need)
	}
	if own := key + "." + t.App; known(ctx, own) {
		return i18n.C(ctx, own)
	}
	if !known(ctx, key) {
		key = "channels.cause.other"
	}
	return OfApp(ctx, key, t.Label)
}

func known(ctx context.Context, key string) bool {
	_, ok := i18n.Keys(i18n.Lang(ctx))[key]
	return ok
}

// AppName returns the display name of a chat app. Label is its own name, which in lower case is its key.
func AppName(ctx context.Context, label string) string {
	if key := "channels.app." + strings.ToLower(label); known(ctx, key) {
		return i18n.C(ctx, key)
	}
	return views.Safe(label)
}

// OfApp returns a sentence about a chat app. Beside other Chinese, a Chinese name has no space.
func OfApp(ctx context.Context, key, label string, more ...any) string {
	s := i18n.C(ctx, key)
	if strings.Contains(s, "%") {
		s = i18n.C(ctx, key, append([]any{AppName(ctx, label)}, more...)...)
	}
	if i18n.Lang(ctx) == i18n.English {
		return s
	}
	return apart().ReplaceAllString(s, "$1$2")
}

var apart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\p{Han}|^) (\p{Han})`) })
