//go:build nowechat

package channels

// weChat adds nothing: Fawn was built without it.
func weChat() []Provider { return nil }
