//go:build unix

package openai_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/openai"
)

const benchChunk = `data: {"id":"chatcmpl-AbCdEf0123456789","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":{"content":" hello"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"

// BenchmarkStream is the price of a chunk through real loopback HTTP, as processor time of
// this process alone: the provider runs in another one. "flushed" sends each chunk by
// itself, as live providers do; "batched" sends 64 at once, which leaves the decoding.
func BenchmarkStream(b *testing.B) {
	for name, batch := range map[string]int{"flushed": 1, "batched": 64} {
		b.Run(name, func(b *testing.B) { benchStream(b, batch) })
	}
}

func benchStream(b *testing.B, batch int) {
	n := (b.N + batch - 1) / batch
	m := open(b, openai.Config{BaseURL: provider(b, n, batch)})
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu()
	seen := 0
	for k, err := range m.Stream(b.Context(), &agent.Request{Messages: []*agent.Message{say("hi")}}) {
		if err != nil {
			b.Fatal(err)
		}
		if k.Text != "" {
			seen++
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(seen), "cpu-ns/chunk")
	if seen != n*batch {
		b.Fatalf("%d chunks of %d", seen, n*batch)
	}
}

// provider starts this test binary as a provider and returns its address.
func provider(b *testing.B, n, batch int) string {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("FAWN_BENCH_PROVIDER=%d,%d", n, batch))
	out := must.Get(cmd.StdoutPipe())(b)
	in := must.Get(cmd.StdinPipe())(b)
	must.Do(b, cmd.Start())
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Errorf("provider: %v", err)
		}
	})
	url := must.Get(bufio.NewReader(out).ReadString('\n'))(b)
	return strings.TrimSpace(url)
}

func TestMain(m *testing.M) {
	var n, batch int
	if _, err := fmt.Sscanf(os.Getenv("FAWN_BENCH_PROVIDER"), "%d,%d", &n, &batch); err != nil {
		os.Exit(m.Run())
	}
	piece := bytes.Repeat([]byte(benchChunk), batch)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		flush := http.NewResponseController(w)
		for range n {
			w.Write(piece)
			flush.Flush()
		}
		w.Write([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	}))
	fmt.Println(s.URL)
	io.Copy(io.Discard, os.Stdin) // until the benchmark closes it
	s.Close()
}

// cpu is the processor time this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
