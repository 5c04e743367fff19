package conversation

import (
	"encoding/json"

	"fawn/store"
	"fawn/views"
	"fawn/web/ui/page"
)

// FollowupsKey holds, in a thread's metadata, the suggestions under its last answer, so that no model is asked twice
// about one answer.
const FollowupsKey = "fawn_followups"

// Limits of shown suggestions; clients may write metadata, too.
const (
	MaxFollowups     = 3
	maxFollowupBytes = 800
)

// Followups are suggestions made after an answer. An empty list means none.
type Followups struct {
	After string   `json:"after"` // id of the answer
	List  []string `json:"list"`
}

func followupsOf(t store.Thread) Followups {
	var meta struct {
		Made Followups `json:"fawn_followups"`
	}
	if json.Unmarshal(t.Metadata, &meta) != nil {
		return Followups{}
	}
	f := meta.Made
	f.List = f.List[:min(len(f.List), MaxFollowups)]
	for i := range f.List {
		f.List[i] = page.Head(f.List[i], maxFollowupBytes)
	}
	return f
}

// next returns the suggestions under a turn: only under the last one, when it ended with an answer and nothing waits.
func (v *View) next(t *views.Turn) views.Followups {
	if !v.suggests || !t.Last || t.State != views.TurnDone || t.User == nil || t.Answer == nil || v.asking ||
		v.Running() || len(v.queue) > 0 {
		return views.Followups{}
	}
	made := followupsOf(v.Thread)
	if made.After != t.Answer.ID {
		return views.Followups{Ask: true}
	}
	return views.Followups{List: made.List}
}
