package gallery

import (
	"time"

	"fawn/views"
)

// usage returns the usage of a just compacted chat.
func usage(s views.Shell) views.UsagePage {
	usd := func(n float64) []views.Money { return []views.Money{{Amount: n, Currency: "USD"}} }
	run := func(id, text string, ago time.Duration, in, out, cached int, cost float64) views.RunSpent {
		part := views.Spent{Name: "gpt-5.2", Calls: 7, Input: in, Output: out, Cached: cached, Money: usd(cost)}
		return views.RunSpent{ID: id, Text: text, At: now().Add(-ago), State: views.TurnDone, Sum: part,
			Parts: []views.Spent{part,
				{Purpose: "title", Calls: 1, Input: 310, Output: 9, Money: usd(0.0004)},
				{Purpose: "suggestions", Calls: 1, Input: 900, Output: 60}}}
	}
	return views.UsagePage{Shell: s, ThreadID: "t1", Title: "Heat pumps against gas boilers",
		Gauge: views.Gauge{Tokens: 11_300, Window: 128_000, About: true}, Hidden: 42,
		Notice: &views.Notice{Kind: views.NoticeGood,
			Text: "Compacted. 42 messages are now summarised; later ones are sent in full."},
		Sum: views.Spent{Calls: 31, Input: 412_000, Output: 23_100, Cached: 301_000, Money: usd(1.73)}, Unpriced: true,
		More: 3,
		Runs: []views.RunSpent{run("r2",
			"Compare the 10-year cost of a heat pump and a gas boiler for a 120 m² house in Lyon", 2*time.Minute,
			401_000, 22_400, 300_000, 1.7),
			run("r1", "", time.Hour, 11_000, 700, 1000, 0.03)},
		Beside: []views.Spent{{Purpose: "summary", Calls: 1, Input: 9000, Output: 600, Money: usd(0.02)}}}
}
