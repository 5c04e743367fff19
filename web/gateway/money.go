package gateway

import "fawn/store"

// money is an amount in one or more currencies. Nothing is converted: two currencies have no sum.
type money struct{ byCurrency map[string]float64 }

func (m *money) add(s store.Spent) {
	if s.Currency == "" { // no price was known
		return
	}
	if m.byCurrency == nil {
		m.byCurrency = map[string]float64{}
	}
	m.byCurrency[s.Currency] += s.Cost
}

// amounts returns all amounts, an empty map for none.
func (m *money) amounts() map[string]float64 {
	if m.byCurrency == nil {
		return map[string]float64{}
	}
	return m.byCurrency
}

// sum returns the amount and its currency; nil if no price was known, or with several currencies.
func (m *money) sum() (cost *float64, currency *string) {
	if len(m.byCurrency) != 1 {
		return nil, nil
	}
	for name, amount := range m.byCurrency {
		cost, currency = &amount, &name
	}
	return cost, currency
}

// modelSpent is one model's spending.
type modelSpent struct {
	Tokens   int64    `json:"tokens"`
	Runs     int      `json:"runs"`
	Cost     *float64 `json:"cost,omitempty"`
	Currency *string  `json:"currency,omitempty"`

	all money
}

func (m *modelSpent) add(s store.Spent) {
	m.Tokens, m.Runs = m.Tokens+s.Total, max(m.Runs, s.Runs) // priced and unpriced calls may share runs
	m.all.add(s)
	m.Cost, m.Currency = m.all.sum()
}
