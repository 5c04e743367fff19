package agent_test

import (
	"encoding/json"
	"fmt"

	"fawn/agent"
)

// generate makes a conversation log of fuzz bytes, as bad as logs can get: ids of calls
// repeat, are blank or look like repaired ones, arguments are no objects, results have no
// call or come late, and messages in the middle were removed.
func generate(data []byte) []*agent.Message {
	ids := []string{"a", "b", "c", "", " ", "fawn_call_1_call_0", "fawn_call_2_invalid_0"}
	args := []string{`{}`, `{"x":1}`, `[]`, `null`, `7`, `{`, ``, ` {"a": "\u2028"} `}
	var msgs []*agent.Message
	next := func() int {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int(b)
	}
	for len(data) > 0 && len(msgs) < 60 {
		id := fmt.Sprint("m", len(msgs))
		switch op := next(); op % 10 {
		case 0, 1:
			msgs = append(msgs, human(id, "hi"))
		case 2:
			msgs = append(msgs, ai(id, "answer"))
		case 3, 4:
			m := ai(id, "")
			for range 1 + op/10%3 {
				m.AddCall(ids[next()%len(ids)], []string{"echo", ""}[next()%2], args[next()%len(args)])
			}
			msgs = append(msgs, m)
		case 5: // arguments a stage or an import left broken
			m := ai(id, "")
			m.ToolCalls = []agent.ToolCall{{ID: ids[next()%len(ids)], Name: "echo",
				Args: json.RawMessage(args[next()%len(args)])}}
			msgs = append(msgs, m)
		case 6, 7:
			msgs = append(msgs, result(id, ids[next()%len(ids)], "result"))
		case 8:
			msgs = append(msgs, question(id, ids[next()%len(ids)], `{"human_input":{}}`))
		case 9:
			if n := len(msgs); n > 0 {
				i := next() % n
				msgs = append(msgs[:i:i], msgs[i+1:]...)
			} else {
				msgs = append(msgs, &agent.Message{ID: id, Type: agent.TypeSystem})
			}
		}
	}
	for i, m := range msgs { // removals above made numbers repeat
		c := *m
		c.ID = fmt.Sprint("m", i)
		msgs[i] = &c
	}
	return msgs
}
