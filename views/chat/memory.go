package chat

import (
	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// ThreadMemoryPage shows a chat's or an answer's use of memory, in a dialog or as a whole page.
func ThreadMemoryPage(p views.ThreadMemoryPage) templ.Component {
	if p.Modal {
		return i18n.In(p.Shell.Lang, threadMemoryModal(p))
	}
	return i18n.In(p.Shell.Lang, threadMemoryPage(p))
}

func threadMemoryTitle(p views.ThreadMemoryPage) string {
	if p.Answer {
		return "memory.answer"
	}
	return "memory.chat"
}
