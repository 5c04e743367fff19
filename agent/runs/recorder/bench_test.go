package recorder

import (
	"fmt"
	"testing"

	"fawn/agent"
)

// BenchmarkEmit is what a piece of an answer costs on its way to storage and to readers, with its
// part of the step that ends an answer of 1000.
func BenchmarkEmit(b *testing.B) {
	w := newBench(b, "t")
	b.ReportAllocs()
	var c agent.Collector
	for n := 0; b.Loop(); n++ {
		id := fmt.Sprint("m", n/1000)
		k := agent.Chunk{Text: "word "}
		c.Add(k)
		w.rec.Emit(agent.Event{Kind: agent.EventChunk, Message: id, Chunk: k})
		if n%1000 == 999 {
			w.step(b, agent.NodeModel, c.Message(id, true))
			c = agent.Collector{}
		}
	}
}
