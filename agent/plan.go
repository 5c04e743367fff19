package agent

import (
	"cmp"
	"slices"
	"strconv"
)

// Limits of a plan: items, characters of an item, bytes of an id.
const (
	MaxTodos     = 100
	MaxTodoChars = 2000
	MaxTodoID    = 64
)

// PlanEdit is a person's change of a plan.
type PlanEdit struct {
	Before []Todo `json:"before"`
	After  []Todo `json:"after"`
}

// Merge applies the person's change to a list that was changed concurrently. Items the person deleted are removed,
// items they added or rewrote are kept, and their order wins; the other writer decides the rest, such as status.
// Merging twice changes nothing.
func (e PlanEdit) Merge(list []Todo) []Todo {
	before, after := todosByID(e.Before), todosByID(e.After)
	out := make([]Todo, 0, len(list)+1)
	for _, t := range NumberTodos(list) {
		b, was := before[t.ID]
		a, is := after[t.ID]
		if was && !is {
			continue
		}
		if was && a.Content != b.Content {
			t.Content, t.Title = a.Content, a.Content
		}
		if was && a.Status != b.Status {
			t.Status = a.Status
		}
		out = append(out, t)
	}
	for i, a := range e.After {
		b, was := before[a.ID]
		if indexTodo(out, a.ID) >= 0 || was && a.Content == b.Content && a.Status == b.Status {
			continue // kept, or removed by the other writer
		}
		at := len(out)
		if i > 0 { // after its predecessor, if that exists
			at = 0
			for _, earlier := range e.After[:i] {
				at = max(at, indexTodo(out, earlier.ID)+1)
			}
		} else if len(e.After) > 1 {
			at = max(0, indexTodo(out, e.After[1].ID))
		}
		out = slices.Insert(out, at, a)
	}
	if e.reorders() {
		sortLike(out, e.After)
	}
	return out[:min(len(out), MaxTodos)]
}

// reorders reports whether the items that stayed have another order.
func (e PlanEdit) reorders() bool {
	last := -1
	for _, a := range e.After {
		if i := indexTodo(e.Before, a.ID); i >= 0 {
			if i < last {
				return true
			}
			last = i
		}
	}
	return false
}

// sortLike sorts those items of list that are in order accordingly. Others keep their places.
func sortLike(list, order []Todo) {
	var places []int
	var known []Todo
	for i, t := range list {
		if indexTodo(order, t.ID) >= 0 {
			places, known = append(places, i), append(known, t)
		}
	}
	slices.SortStableFunc(known, func(a,
		b Todo) int {
		return cmp.Compare(indexTodo(order, a.ID), indexTodo(order, b.ID))
	})
	for i, at := range places {
		list[at] = known[i]
	}
}

// AddPlanEdit appends an edit the model hasn't been told about yet. An edit that continues the last one is merged with
// it; edits without effect are dropped.
func AddPlanEdit(edits []PlanEdit, e PlanEdit) []PlanEdit {
	out := slices.Clone(edits)
	if n := len(out); n > 0 && slices.Equal(out[n-1].After, e.Before) {
		e.Before, out = out[n-1].Before, out[:n-1]
	}
	if slices.Equal(e.Before, e.After) {
		return out
	}
	return append(out, e)
}

// NumberTodos assigns items without an id the next free number. It doesn't modify list.
func NumberTodos(list []Todo) []Todo {
	list = slices.Clone(list)
	KeepTodoIDs(nil, list)
	return list
}

// KeepTodoIDs gives each item without an id the id of the same item in old, or the next free number.
func KeepTodoIDs(old, list []Todo) {
	used, top := map[string]bool{}, 0
	for _, t := range slices.Concat(old, list) {
		if n, err := strconv.Atoi(t.ID); err == nil {
			top = max(top, n)
		}
	}
	for i := range list {
		if t := &list[i]; used[t.ID] {
			t.ID = "" // given twice
		} else if t.ID != "" {
			used[t.ID] = true
		}
	}
	for i := range list {
		t := &list[i]
		if t.ID != "" {
			continue
		}
		if at := slices.IndexFunc(old, func(o Todo) bool { return o.Content == t.Content && !used[o.ID] }); at >= 0 {
			t.ID = old[at].ID
		}
		if t.ID == "" {
			top++
			t.ID = strconv.Itoa(top)
		}
		used[t.ID] = true
	}
}

func todosByID(list []Todo) map[string]Todo {
	m := make(map[string]Todo, len(list))
	for _, t := range list {
		m[t.ID] = t
	}
	return m
}

func indexTodo(list []Todo, id string) int {
	return slices.IndexFunc(list, func(t Todo) bool { return t.ID == id })
}
