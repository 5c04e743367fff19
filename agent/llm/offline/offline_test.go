package offline_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/llm/offline"
	"fawn/agent/tools"
)

func TestTenThousandRowsGetRightNumbers(t *testing.T) {
	d := newDesk(t, nil)
	file := "\ufeff" + sales(10_000)
	begin := time.Now()
	answer := d.say("Please analyse this file and make a report with a chart.", map[string]string{"sales.csv": file})
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %s", took)
	}
	t.Logf("%d bytes in %s, calls %v", len(file), time.Since(begin), d.calls())

	// the same statistics, computed from the file by other means
	rows := must.Get(csv.NewReader(strings.NewReader(strings.TrimPrefix(file, "\ufeff"))).ReadAll())(t)
	var amounts []float64
	byRegion, sum := map[string]int{}, 0.0
	for _, r := range rows[1:] {
		byRegion[r[2]]++
		if r[5] != "" {
			var v float64
			must.Get(fmt.Sscan(r[5], &v))(t)
			amounts = append(amounts, v)
			sum += v
		}
	}
	sort.Float64s(amounts)
	n := len(amounts)
	mean := sum / float64(n)
	squares := 0.0
	for _, v := range amounts {
		squares += (v - mean) * (v - mean)
	}
	median := amounts[n/2]
	if n%2 == 0 {
		median = (amounts[n/2-1] + amounts[n/2]) / 2
	}
	line := fmt.Sprintf("| amount | %s | %s | %s | %s | %s | %s |", comma(amounts[0]), comma(mean), comma(median),
		comma(amounts[n-1]), comma(math.Sqrt(squares/float64(n-1))), comma(sum))
	report := d.output("report.md")
	holds(t, report, "10,000 rows, 7 columns", line, fmt.Sprintf("| amount | number | %s | %s |", comma(float64(n)),
		comma(float64(10_000-n))), "| date | 2024-01-01 | 2024-12-31 |",
		fmt.Sprintf("(%s, ", comma(float64(byRegion["Übersee, other"]))), "Empty lines skipped: 10.", "![", "chart.svg",
		"isn't an AI")
	holds(t, answer, "10,000 rows", "7 columns", "mean "+comma(mean), "`report.md`", "`chart.svg`", "isn't an AI")
	if !slices.Equal(d.turn.State.Artifacts,
		[]string{"/mnt/user-data/outputs/report.md", "/mnt/user-data/outputs/chart.svg"}) {
		t.Errorf("artifacts %v", d.turn.State.Artifacts)
	}
	drawing(t, d.output("chart.svg"))
	if c := d.calls(); c["read_file"] < 15 || c["read_file"] > 45 || c["write_file"] != 2 || c["present_files"] != 1 {
		t.Errorf("calls %v", c)
	}
}

func TestFormatsOfTheWorldAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		file, content string
		report        []string
	}{
		"semicolons and decimal comma": {"a.csv", "Name;Betrag\nx;1.234,50\ny;0,25\nz;-3,75\n", []string{"3 rows, 2 columns", "| Betrag | -3.75 | 410.33 | 0.25 | 1,234.50 | 713.75 | 1,231 |"}},
		"thousands and currency":       {"a.csv", "n,v\na,\"$1,200\"\nb,\"$2,400.50\"\nc,(100)\n", []string{"| v | -100 | 1,166.83 | 1,200 | 2,400.50 |"}},
		"tabs":                         {"a.tsv", "k\tv\na, b\t1\nc\t2\n", []string{"2 rows, 2 columns", "| v | 1 | 1.50 | 1.50 | 2 | 0.7071 | 3 |"}},
		"pipes":                        {"a.csv", "k|v\na|1\nb|3\n", []string{"| v | 1 | 2 | 2 | 3 | 1.41 | 4 |"}},
		"line break in a field":        {"a.csv", "k,v\n\"two\nlines\",1\nb,3\n", []string{"2 rows, 2 columns"}},
		"ragged and blank":             {"a.csv", "a,b,c\n1,2\n\n1,2,3,4\n1,2,3\n", []string{"3 rows, 3 columns", "Empty lines skipped: 1.", "fewer fields than the header: 1;", "more fields than the header: 1;"}},
		"missing words":                {"a.csv", "k,v\na,NA\nb,null\nc,4\nd,-\n", []string{"| v | number | 1 | 3 | 1 |", "| v | 4 | 4 | 4 | 4 | – | 4 |"}},
		"no header":                    {"a.csv", "1,2\n3,4\n", []string{"2 rows, 2 columns", "column 1", "The first row looks like data"}},
		"codes stay text":              {"a.csv", "zip,n\n01234,1\n99999,2\n", []string{"| zip | text | 2 | 0 | 2 |"}},
		"open quote":                   {"a.csv", "k,v\n\"oops,1\nb,2\n", []string{"2 rows, 2 columns", "| v | 1 | 1.50 |"}},
		"day first":                    {"a.csv", "d,v\n31/01/2024,1\n01/02/2024,2\n", []string{"| d | 2024-01-31 | 2024-02-01 |"}},
		"month first is told":          {"a.csv", "d,v\n03/04/2024,1\n01/02/2024,2\n", []string{"| d | 2024-01-02 | 2024-03-04 |", "month/day"}},
		"some odd values":              {"a.csv", "k,v\n" + strings.Repeat("a,5\n", 99) + "b,many\n", []string{"| v | 5 | 5 | 5 | 5 | 0 | 495 |", "values that aren't a number, left out of the figures: 1."}},
		"markup in names":              {"a.csv", "<b>x|y</b>,v\n[l](javascript:1),1\n\"<svg onload=1>\",2\n", []string{"&lt;b>x\\|y&lt;/b>"}},
		"sep line":                     {"a.csv", "sep=;\nk;v\na;1\nb;2\n", []string{"2 rows, 2 columns"}},
		"only a header":                {"a.csv", "a,b\n", []string{"no rows of data"}},
		"no line end":                  {"a.csv", "a,b\nx,7", []string{"1 row, 2 columns", "| b | 7 | 7 | 7 | 7 | – | 7 |"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			d.say("summarise it", map[string]string{c.file: c.content})
			holds(t, d.output("report.md"), c.report...)
		})
	}
}

func TestChartFollowsTheDataAndTheWords(t *testing.T) {
	table := "day,city,amount\n"
	for i := range 60 {
		table += fmt.Sprintf("2024-01-%02d,%s,%d\n", i%30+1, []string{"Rome", "Oslo <&>", "Lima"}[i%3], i)
	}
	for words, title := range map[string]string{
		"make a chart":                       "Sum of amount per day",
		"show me a histogram":                "Distribution of amount",
		"compare the amount by city as bars": "Sum of amount by city",
	} {
		d := newDesk(t, nil)
		answer := d.say(words, map[string]string{"t.csv": table})
		svg := d.output("chart.svg")
		drawing(t, svg)
		holds(t, svg, title)
		holds(t, answer, title)
	}
	d := newDesk(t, nil)
	d.say("图表", map[string]string{"t.csv": "城市,数量\n北京,3\n上海,5\n北京,4\n上海,1\n"})
	svg := d.output("chart.svg")
	drawing(t, svg)
	holds(t, svg, "数量 的合计（按 城市）", "北京")
}

func TestNarrowReadsAreRepeatedUntilNothingIsMissing(t *testing.T) {
	d := newDesk(t, func(l *tools.Limits) { l.ReadChars = 2000 })
	file := "k,v\n"
	for i := range 2000 {
		file += fmt.Sprintf("%s,%d\n", strings.Repeat("w", i%97), i)
	}
	d.say("analyse", map[string]string{"t.csv": file})
	holds(t, d.output("report.md"), "2,000 rows", "| v | 0 | 999.50 | 999.50 | 1,999 | 577.49 | 1,999,000 |")
}

func TestTooLongAFileIsSampledAndSaysSo(t *testing.T) {
	d := newDesk(t, func(l *tools.Limits) { l.ScanBytes = 100_000 })
	answer := d.say("analyse", map[string]string{"t.csv": sales(3000)})
	holds(t, answer, "sample: the first")
	holds(t, d.output("report.md"), "This is a sample: the first", "the file is longer")
}

func TestSecondReportLeavesTheFirstAlone(t *testing.T) {
	d := newDesk(t, nil)
	d.say("analyse", map[string]string{"a.csv": "k,v\na,1\nb,2\n"})
	first := d.output("report.md")
	d.say("and now b.csv", map[string]string{"b.csv": "k,v\na,100\nb,200\n"})
	if d.output("report.md") != first {
		t.Error("the first report was written over")
	}
	holds(t, d.output("report-2.md"), "b.csv", "| v | 100 | 150 |", "chart-2.svg")
	d.output("chart-2.svg")
	holds(t, d.say("What about a.csv again? Please summarise.", nil), "**a.csv**")
	d.output("report-3.md")
}

func TestFilesAreFoundWithoutANote(t *testing.T) {
	d := newDesk(t, nil)
	d.put("uploads/found.csv", "k,v\na,1\nb,2\n")
	holds(t, d.say("please analyse the uploaded file", nil), "**found.csv** has 2 rows")
	if d.calls()["ls"] != 1 {
		t.Errorf("calls %v", d.calls())
	}
	holds(t, newDesk(t, nil).say("please analyse the uploaded file", nil), "offline model", "config.yaml")
}

func TestTextGetsAnOutlineAndItsOwnSentences(t *testing.T) {
	d := newDesk(t, nil)
	text := "# Rivers\n\nRivers carry water from mountains to the sea. They also carry sediment from mountains.\n\n" +
		"## Floods\n\nA flood happens when a river carries more water than its banks hold. Cats are unrelated animals sleeping.\n\n" +
		"```\n# no heading inside code\n```\n\nUnderlined\n----------\n\n- Water shapes valleys, and rivers carry the sediment away.\n"
	answer := d.say("outline please", map[string]string{"rivers.md": text})
	holds(t, answer, "**rivers.md** has 16 lines", "- Rivers (L1)", "  - Floods (L5)", "  - Underlined (L13)", "(L3)",
		"isn't an AI")
	if strings.Contains(answer, "no heading") {
		t.Error("code counts as a heading")
	}
	for line := range strings.Lines(answer) {
		quote, at, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), " (L")
		if ok && strings.HasSuffix(quote, ".") {
			var n int
			_, err := fmt.Sscanf(at, "%d)", &n)
			if err != nil || !strings.Contains(strings.Split(text, "\n")[n-1], quote) {
				t.Errorf("line %d does not hold %q", n, quote)
			}
		}
	}
}

func TestUnreadableFilesAreToldNotGuessed(t *testing.T) {
	d := newDesk(t, nil)
	answer := d.say("summarise", map[string]string{"pic.png": "\x89PNG\r\n\x1a\n\x00\x00",
		"paper.pdf": "%PDF-1.7\n\x00\x01"})
	holds(t, answer, "`pic.png` couldn't be read", "`paper.pdf` couldn't be read")
	d = newDesk(t, nil)
	d.put("uploads/paper.md", "# Converted\n\nThis text was made from the paper by a converter.\n")
	holds(t, d.say("summarise", map[string]string{"paper.pdf": "%PDF-1.7\n\x00\x01"}), "**paper.md**", "Converted (L1)")
}

func TestItSaysWhatItIsAndHowToConnect(t *testing.T) {
	look := func(context.Context) offline.Environment {
		return offline.Environment{Keys: []string{"DEEPSEEK_API_KEY"},
			Servers: []offline.Server{{Name: "Ollama", BaseURL: "http://127.0.0.1:11434/v1",
				Models: []string{"qwen3:8b"}}}}
	}
	ask := func(m *offline.Model, text string) string {
		msg, err := agent.Collect("m",
			m.Stream(t.Context(),
				&agent.Request{
					Messages: []*agent.Message{{ID: "h", Type: agent.TypeHuman, Content: agent.Text(text)}},
				}))
		if err != nil || msg.Meta["finish_reason"] != "stop" || msg.Meta["model_name"] != offline.Name {
			t.Fatalf("%+v, %v", msg, err)
		}
		return msg.Content.Text
	}
	holds(t, ask(offline.New(look), "Who are you?"), "not an AI", "`DEEPSEEK_API_KEY`", "Ollama", "`qwen3:8b`",
		"base_url: http://127.0.0.1:11434/v1", "config.yaml")
	holds(t, ask(offline.New(look), "你是谁？"), "不是 AI", "`DEEPSEEK_API_KEY`", "qwen3:8b")
	nothing := offline.New(func(context.Context) offline.Environment { return offline.Environment{} })
	holds(t, ask(nothing, "hi"), "no API keys in the environment", "api_key: $OPENAI_API_KEY")
	if said := ask(offline.New(nil), "hi"); strings.Contains(said, "no key") {
		t.Errorf("it tells of a search it did not make: %s", said)
	}
}

func TestWhatToRememberIsRepeatedNotExplainedAway(t *testing.T) {
	const en, zh = "Unless memory is off", "只要记忆功能已开启"
	for _, c := range []struct {
		text  string
		noted bool
		want  []string
	}{
		{"Remember that I use metric units.", true, []string{en, "- I use metric units\n", "Settings → Memory"}},
		{"Please remember that I like charts of my data.", true, []string{"- I like charts of my data\n"}}, // no job for files
		{"请记住我用公制单位。", true, []string{zh, "- 我用公制单位\n", "设置 → 记忆"}},
		{"Remember that my name is Ada. Who are you?", true, []string{"- my name is Ada\n"}},
		{"Do you remember that I use metric units?", false, []string{"not an AI"}},
	} {
		said := newDesk(t, nil).say(c.text, nil)
		holds(t, said, c.want...)
		if noted := strings.Contains(said, en) || strings.Contains(said, zh); noted != c.noted {
			t.Errorf("%s: %s", c.text, said)
		}
	}
	d := newDesk(t, nil)
	d.say("Remember that I like short reports. Analyse this file.", map[string]string{"s.csv": sales(20)})
	if d.output("report.md") == "" {
		t.Error("there is no report")
	}
}

func TestACutOffRunGoesOnWhereItWas(t *testing.T) {
	whole := newDesk(t, nil)
	file := sales(3000)
	whole.say("analyse", map[string]string{"s.csv": file})
	for i, step := range whole.sink.Steps() {
		if len(step.Next) == 0 {
			continue
		}
		d := newDesk(t, nil)
		d.put("uploads/s.csv", file)
		d.turn.State = step.State.Clone()
		d.turn.From = step.Next
		d.turn.NewID = whole.turn.NewID // ids go on, none comes twice
		if slices.ContainsFunc(step.State.Messages, func(m *agent.Message) bool {
			return m.Type == agent.TypeTool && m.Name == "write_file"
		}) {
			for _, f := range []string{"report.md", "chart.svg"} { // what the finished steps left on disk
				d.put("outputs/"+f, whole.output(f))
			}
		}
		if _, err := d.a.Run(t.Context(), d.turn); err != nil {
			t.Fatalf("from step %d: %v", i, err)
		}
		if d.output("report.md") != whole.output("report.md") {
			t.Errorf("from step %d the report is another one", i)
		}
	}
}

func TestChunksAreWordsAndStopWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	req := &agent.Request{Messages: []*agent.Message{{ID: "h", Type: agent.TypeHuman, Content: agent.Text("hello")}}}
	for k, err := range offline.New(nil).Stream(ctx, req) {
		if last = err; err == nil && len(k.Text) > 200 {
			t.Errorf("a chunk of %d bytes", len(k.Text))
		}
		if n++; n == 5 {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) || n != 6 {
		t.Errorf("%d chunks, then %v", n, last)
	}
}

func TestWithoutToolsItStillAnswers(t *testing.T) {
	req := &agent.Request{Messages: []*agent.Message{{ID: "h", Type: agent.TypeHuman,
		Content: agent.Text("<uploaded_files>\n- a.csv (1.0 KB)\n  Path: /mnt/user-data/uploads/a.csv\n</uploaded_files>\n\nanalyse")}}}
	msg, err := agent.Collect("m", offline.New(nil).Stream(t.Context(), req))
	if err != nil || len(msg.ToolCalls) > 0 || msg.Content.Text == "" {
		t.Errorf("%+v, %v", msg, err)
	}
}
