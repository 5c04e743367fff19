package settings

import (
	"context"
	"strconv"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// ChannelScan renders the sign-in by QR code of an app.
func ChannelScan(lang string, a views.ChannelApp) templ.Component {
	return i18n.In(lang, channelScan(a))
}

func scanBox(q views.QR) string { return "0 0 " + strconv.Itoa(q.Size) + " " + strconv.Itoa(q.Size) }

// scanTrigger makes scripts poll until digits must be entered.
func scanTrigger(s views.ChannelScan) string {
	if s.Digits {
		return "submit"
	}
	return "load delay:1s, submit"
}

// scanText describes the progress of a sign-in.
func scanText(ctx context.Context, s views.ChannelScan) string {
	if s.Problem != "" {
		key := "channels.scan.problem." + s.Problem
		if text := i18n.C(ctx, key); text != key {
			return text
		}
	}
	return i18n.C(ctx, "channels.scan."+s.State)
}
