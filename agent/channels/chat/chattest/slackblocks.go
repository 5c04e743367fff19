package chattest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// slackBlock holds the fields of blocks that a bot may send.
type slackBlock struct {
	Type     string
	Text     *slackTextObject
	Expand   bool
	Elements []slackElement
	Rows     [][]slackBlock
	Settings []struct {
		Align   string
		Wrapped bool `json:"is_wrapped"`
	} `json:"column_settings"`
}

type slackTextObject struct{ Type, Text string }

// UnmarshalJSON reads a text object, or the bare text of a cell.
func (t *slackTextObject) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, &t.Text)
	}
	type plain slackTextObject
	return json.Unmarshal(b, (*plain)(t))
}

type slackElement struct {
	Type, Text, URL string
	Elements        []slackElement
}

func kindsOf(blocks []slackBlock) (out []string) {
	for _, b := range blocks {
		out = append(out, b.Type)
	}
	return out
}

// checkBlocks finds content that Block Kit's reference doesn't allow, and mentions.
func checkBlocks(blocks []slackBlock) string {
	if len(blocks) > 50 {
		return fmt.Sprintf("%d of them, more than 50", len(blocks))
	}
	tables := 0
	for i, b := range blocks {
		wrong := ""
		switch b.Type {
		case "section":
			wrong = b.Text.check("mrkdwn", 3000)
		case "header":
			wrong = b.Text.check("plain_text", 150)
		case "divider":
		case "rich_text":
			wrong = checkElements(b.Elements, "rich_text_preformatted")
		case "table":
			if tables++; tables > 1 {
				return "only_one_table_allowed"
			}
			wrong = b.checkTable()
		default:
			wrong = "an unknown type"
		}
		if wrong != "" {
			return fmt.Sprintf("%d, a %s: %s", i, b.Type, wrong)
		}
	}
	return ""
}

func (t *slackTextObject) check(kind string, most int) string {
	switch {
	case t == nil || t.Type != kind:
		return "no text of the type " + kind
	case strings.TrimSpace(t.Text) == "" || utf8.RuneCountInString(t.Text) > most:
		return fmt.Sprintf("a text of %d characters", utf8.RuneCountInString(t.Text))
	case kind == "mrkdwn" && (strings.Contains(t.Text, "<!") || strings.Contains(t.Text, "<@")):
		return fmt.Sprintf("%q addresses people", t.Text)
	}
	return ""
}

// checkElements checks the parts of a rich text, all of one kind.
func checkElements(list []slackElement, kind string) string {
	if len(list) == 0 {
		return "it is empty"
	}
	for _, part := range list {
		if part.Type != kind || len(part.Elements) == 0 {
			return "a part of the type " + part.Type
		}
		for _, e := range part.Elements {
			if e.Text == "" || e.Type != "text" && (e.Type != "link" || e.URL == "") {
				return fmt.Sprintf("an element %+v", e)
			}
		}
	}
	return ""
}

func (b *slackBlock) checkTable() string {
	if len(b.Rows) == 0 || len(b.Rows) > 100 || len(b.Settings) > 20 {
		return fmt.Sprintf("%d rows, %d settings", len(b.Rows), len(b.Settings))
	}
	for _, row := range b.Rows {
		if len(row) == 0 || len(row) > 20 || len(row) != len(b.Rows[0]) {
			return fmt.Sprintf("a row of %d cells", len(row))
		}
		for _, cell := range row {
			wrong := ""
			switch {
			case cell.Type == "rich_text":
				wrong = checkElements(cell.Elements, "rich_text_section")
			case cell.Type != "raw_text" || cell.Text == nil || cell.Text.Text == "":
				wrong = "no text"
			}
			if wrong != "" {
				return "a cell: " + wrong
			}
		}
	}
	return ""
}
