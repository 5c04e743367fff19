package chat_test

import (
	"testing"

	"golang.org/x/net/html"

	"fawn/views"
	"fawn/views/chat"
)

func TestTheMenusOfTheListRestartASandboxWhereThereIsOne(t *testing.T) {
	for _, restart := range []bool{true, false} {
		l := views.ChatList{Rows: []views.ChatRow{{ThreadRow: views.ThreadRow{ID: "t1", Title: "One"}}},
			Restart: restart}
		form := find(render(t, chat.ChatList(l)), func(n *html.Node) bool {
			return n.Data == "form" && attr(n, "action") == "/ui/threads/t1/sandbox"
		})
		if (form != nil) != restart {
			t.Errorf("with restart %v the form is there: %v", restart, form != nil)
		}
	}
}
