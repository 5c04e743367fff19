package page

import (
	"fawn/agent/channels"
	"fawn/agent/channels/chat"
	"fawn/views"
)

// maxRaw limits quoted text of a platform, in bytes.
const maxRaw = 2000

// Trouble explains a failure of a chat app.
func Trouble(app string, t chat.Trouble) *views.Trouble {
	v := &views.Trouble{App: app, Label: app, Cause: string(t.Cause), Need: Head(t.Need, MaxTitle)}
	if p, known := channels.ProviderOf(app); known {
		v.Label = p.Display
	}
	if t.Cause != chat.Disconnected && t.Cause != chat.Deleted {
		v.Raw = Head(t.Text, maxRaw)
	}
	return v
}
