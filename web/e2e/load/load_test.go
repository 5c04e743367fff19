package load

import (
	"math"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"fawn/web/e2e/scriptmodel"
)

func TestTargetsDeliverEveryToken(t *testing.T) {
	model := scriptmodel.Start(t)
	front := httptest.NewServer(Relay(model.URL))
	defer front.Close()
	direct := NewTarget("model", model.URL)
	direct.Direct = true
	for _, target := range []*Target{direct, NewTarget("relay", front.URL)} {
		t.Run(target.Name, func(t *testing.T) {
			for end := time.Now().Add(time.Minute); ; {
				got, err := streams(t.Context(), target, 8, 40, 200)
				if err != nil {
					t.Fatal(err)
				}
				if len(got.gaps) == 0 || len(got.gaps) > 8*39 || len(got.endLag) != 8 {
					t.Fatalf("%d gaps, %d lags", len(got.gaps), len(got.endLag))
				}
				p := quantile(got.gaps, 0.5)
				if p >= 1 && p <= 50 {
					return
				}
				if time.Now().After(end) { // before, the machine may have stood still for most of the tokens
					t.Fatalf("median gap %v ms at 200 tok/s", p)
				}
			}
		})
	}
}

func TestRelayKeepsTheConversation(t *testing.T) {
	model := scriptmodel.Start(t)
	front := httptest.NewServer(Relay(model.URL))
	defer front.Close()
	target := NewTarget("relay", front.URL)
	thread, err := target.Thread(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conversation(t.Context(), target, thread, 3); err != nil {
		t.Fatal(err)
	}
	last := model.Requests()[2].Body
	if n := strings.Count(string(last), `"role"`); n != 5 {
		t.Fatalf("the third request had %d messages, want 5: %s", n, last)
	}
}

func TestReadUnderstandsFrames(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		tokens int
		fails  bool
	}{
		"message frames count":      {"event: messages\ndata: [{\"content\":\"lorem lorem \"}]\nid: 1\n\nevent: end\ndata: null\n", 2, false},
		"other frames do not":       {"event: values\ndata: {\"x\":\"lorem \"}\n\n", 0, false},
		"an error frame fails":      {"event: error\ndata: {\"message\":\"kaboom\"}\n\n", 0, true},
		"a very long line is taken": {"event: values\ndata: " + strings.Repeat("x", 100_000) + "\n\nevent: messages\ndata: lorem \n", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := read(strings.NewReader(c.body), time.Now(), false)
			if s.Tokens != c.tokens || (err != nil) != c.fails {
				t.Fatalf("%d tokens, error %v", s.Tokens, err)
			}
		})
	}
}

func TestOrderOfGrowth(t *testing.T) {
	x := []float64{10, 20, 40, 80}
	for name, c := range map[string]struct {
		y    []float64
		want float64
	}{
		"linear":    {[]float64{30, 60, 120, 240}, 1},
		"quadratic": {[]float64{1, 4, 16, 64}, 2},
		"constant":  {[]float64{5, 5, 5, 5}, 0},
	} {
		if got := order(x, c.y); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if !math.IsNaN(order([]float64{1}, []float64{1})) {
		t.Error("one point has a slope")
	}
}

func TestReportJudgesLimits(t *testing.T) {
	none := math.NaN()
	for name, c := range map[string]struct {
		row  Row
		want string
	}{
		"below":         {Row{"a", "ms", 5, 2, 10, false}, "| a | ms | 5.00 | 2.00 | 2.50 | 10.0 | PASS |"},
		"above":         {Row{"a", "ms", 50, none, 10, false}, "| a | ms | 50.0 |  |  | 10.0 | **FAIL** |"},
		"not taken":     {Row{"a", "ms", none, none, 10, false}, "| a | ms |  |  |  | 10.0 | **FAIL** |"},
		"without limit": {Row{"a", "ms", 50, none, none, false}, "| a | ms | 50.0 |  |  |  |  |"},
		"enough":        {Row{"a", "1/s", 50, none, 10, true}, "| a | 1/s | 50.0 |  |  | ≥ 10.0 | PASS |"},
		"too little":    {Row{"a", "1/s", 5, none, 10, true}, "| a | 1/s | 5.00 |  |  | ≥ 10.0 | **FAIL** |"},
	} {
		r := Report{Rows: []Row{c.row}}
		var b strings.Builder
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) || r.Failed() != strings.Contains(c.want, "FAIL") {
			t.Errorf("%s: failed %v\n%s", name, r.Failed(), b.String())
		}
	}
}

func TestProcessFiguresOfThisTest(t *testing.T) {
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	after := before
	// its unit is coarse, and others want the processor too
	for end := time.Now().Add(time.Minute); err == nil && after == before && time.Now().Before(end); {
		after, err = cpuTime(os.Getpid())
	}
	if err != nil || after <= before || after-before > time.Minute {
		t.Fatalf("cpu time went from %v to %v: %v", before, after, err)
	}
	m, err := memory(os.Getpid())
	if err != nil || m.RSS < 1<<20 || m.PSS > m.RSS {
		t.Fatalf("memory %+v: %v", m, err)
	}
}

func TestUnsharedIsWhatTheNextRequestChanges(t *testing.T) {
	request := func(tools, messages string) scriptmodel.Request {
		return scriptmodel.Request{Body: []byte(`{"messages":` + messages + `,"tools":` + tools + `}`)}
	}
	for name, c := range map[string]struct {
		sent []scriptmodel.Request
		want float64
	}{
		"the end bracket only":   {[]scriptmodel.Request{request(`["tool"]`, `["a"]`), request(`["tool"]`, `["a","b"]`)}, 1.0 / 13},
		"another tool is all":    {[]scriptmodel.Request{request(`["tool"]`, `["a"]`), request(`[]`, `["a"]`)}, 12.0 / 13},
		"a message in the midst": {[]scriptmodel.Request{request(`[]`, `["a","b"]`), request(`[]`, `["x","b"]`)}, 7.0 / 11},
	} {
		if got, err := unshared(c.sent); err != nil || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	if _, err := unshared(nil); err == nil {
		t.Error("nothing was sent and that is fine")
	}
}
