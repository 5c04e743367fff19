package openai

import (
	"crypto/rand"
	"encoding/json"
	"strings"

	"fawn/agent"
)

// keys of additional_kwargs this package writes and sends back.
const (
	keyReasoning = "reasoning_content" // written by agent.Collector
	keyDetails   = "reasoning_details"
	keyExtra     = "extra_content" // call id ("" for the message itself) -> the provider's data
)

// calls assigns each tool call of an answer a place, however the provider uses index and id: one index for several
// whole calls, no index, no id, an id on every piece.
type calls struct {
	list []openCall
	at   map[int]int // the provider's index -> place in list of its newest call
}

type openCall struct {
	id    string // the provider's; "" without one
	shown string // the id the message has
	named bool
}

// add converts a received piece to a delta.
func (c *calls) add(w wireCall) (agent.CallDelta, string) {
	id, name, args := string(w.ID), string(w.Function.v.Name), w.Function.v.Args
	if name == "" {
		name = string(w.Name)
	}
	if args == "" {
		args = w.Args
	}
	place, known := len(c.list)-1, len(c.list) > 0
	if w.Index.set {
		place, known = c.at[w.Index.at]
	}
	if known {
		open := c.list[place]
		fresh := id != "" && open.id != "" && id != open.id
		if !w.Index.set && !fresh {
			// without an index a name also starts a call, unless the id contradicts
			fresh = name != "" && open.named && (id == "" || id != open.id)
		}
		known = !fresh
	}
	if !known {
		shown := id
		if shown == "" || c.taken(shown) {
			shown = "call_" + rand.Text()
		}
		c.list = append(c.list, openCall{id: id, shown: shown})
		place = len(c.list) - 1
		if w.Index.set {
			if c.at == nil {
				c.at = map[int]int{}
			}
			c.at[w.Index.at] = place
		}
	}
	open := &c.list[place]
	d := agent.CallDelta{Index: place, Args: string(args)}
	if !known {
		d.ID = open.shown
	}
	if !open.named && name != "" {
		open.named = true
		d.Name = name
	}
	return d, open.shown
}

func (c *calls) taken(id string) bool {
	for _, o := range c.list {
		if o.shown == id {
			return true
		}
	}
	return false
}

// details assembles the pieces of reasoning_details into whole entries, which the provider expects back unchanged.
type details struct {
	list    []map[string]any
	growing *growing // nil where pieces are never repeated
}

// add takes a piece and returns its readable text.
func (d *details) add(raw json.RawMessage) string {
	var piece map[string]any
	if json.Unmarshal(raw, &piece) != nil || piece == nil {
		return ""
	}
	text, _ := piece["text"].(string)
	if text == "" {
		text, _ = piece["summary"].(string)
	}
	if n := len(d.list) - 1; n >= 0 && continues(d.list[n], piece) {
		last := d.list[n]
		for k, v := range piece {
			s, isText := v.(string)
			old, was := last[k].(string)
			if isText && was && (k == "text" || k == "summary" || k == "data") {
				if k == "text" {
					s = d.growing.fresh(s)
					text = s
				}
				last[k] = old + s
			} else if v != nil {
				last[k] = v
			}
		}
		return text
	}
	d.growing.start(text)
	d.list = append(d.list, piece)
	return text
}

// continues reports whether piece is the next part of the entry last.
func continues(last, piece map[string]any) bool {
	a, ok := piece["index"].(float64)
	b, was := last["index"].(float64)
	kind, _ := piece["type"].(string)
	before, _ := last["type"].(string)
	return ok && was && a == b && kind == before
}

// value returns the collected list in the form JSON gives back, or nil.
func (d *details) value() any {
	if len(d.list) == 0 {
		return nil
	}
	out := make([]any, len(d.list))
	for i, e := range d.list {
		out[i] = e
	}
	return out
}

// growing extracts the new part of pieces that each repeat everything before them. The second piece shows whether a
// provider writes that way; otherwise pieces pass unchanged. A nil growing passes everything.
type growing struct {
	all   strings.Builder
	plain bool // pieces don't repeat earlier ones
}

// start handles the first piece.
func (g *growing) start(piece string) {
	if g != nil {
		*g = growing{}
		g.all.WriteString(piece)
	}
}

// fresh returns the part of piece that was not there before.
func (g *growing) fresh(piece string) string {
	if g == nil || g.plain || piece == "" {
		return piece
	}
	if g.all.Len() > 0 {
		rest, ok := strings.CutPrefix(piece, g.all.String())
		if !ok {
			g.plain = true
			return piece
		}
		piece = rest
	}
	g.all.WriteString(piece)
	return piece
}
