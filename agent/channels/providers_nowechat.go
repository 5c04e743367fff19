//go:build nowechat

package channels

// weChat adds nothing: this build excludes it.
func weChat() []Provider { return nil }
