package api_test

import (
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
)

func TestLongArgumentsOfACallAreToldInFewPieces(t *testing.T) {
	const pieces = 5000
	deltas := []agent.CallDelta{{ID: "c1", Name: "get_weather", Args: `{"city":"`}}
	for range pieces {
		deltas = append(deltas, agent.CallDelta{Args: "abcdefgh"})
	}
	deltas = append(deltas, agent.CallDelta{Args: `"}`})
	var chunks []agent.Chunk
	for _, d := range deltas {
		chunks = append(chunks, agent.Chunk{Calls: []agent.CallDelta{d}})
	}
	chunks = append(chunks, agent.Chunk{Finish: "tool_calls"})
	w := open(t, &agent.Agent{Tools: []*agent.Tool{agenttest.Echo("get_weather")},
		Model: &agenttest.Script{Replies: []agenttest.Reply{{Chunks: chunks}, agenttest.Say("done")}}})
	w.command(t, "t1", "run.start", startWeather)
	n, bytes, whole := 0, 0, 0
	for _, e := range w.listen(t, "t1", `{"channels":["messages","lifecycle"]}`, 1) {
		if strings.Contains(string(e.Params.Data), "tool_call_chunk") {
			n++
			bytes += len(e.Params.Data)
		}
		if e.member(t, "event") == "content-block-finish" {
			whole = max(whole, len(e.Params.Data))
		}
	}
	if whole < pieces*8 || n > 100 || bytes > 10*whole {
		t.Errorf("%d pieces with %d bytes for %d", n, bytes, whole)
	}
}
