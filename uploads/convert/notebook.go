package convert

import (
	"encoding/json"
	"fmt"
	"strings"
)

// lines is a text of a notebook: one string or a list of them.
type lines string

func (l *lines) UnmarshalJSON(b []byte) error {
	var list []string
	if json.Unmarshal(b, &list) == nil {
		*l = lines(strings.Join(list, ""))
		return nil
	}
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = lines(one)
	}
	return nil // other data isn't text
}

// maxOutput limits one output of a cell.
const maxOutput = 20_000

// notebook reads the cells of a Jupyter notebook with the text of their outputs.
func notebook(d *draft, data []byte) error {
	var nb struct {
		Cells []struct {
			Kind    string `json:"cell_type"`
			Source  lines  `json:"source"`
			Outputs []struct {
				Text  lines            `json:"text"`
				Data  map[string]lines `json:"data"`
				Name  string           `json:"ename"`
				Value string           `json:"evalue"`
			} `json:"outputs"`
		} `json:"cells"`
		Metadata struct {
			Kernel struct {
				Language string `json:"language"`
			} `json:"kernelspec"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &nb); err != nil {
		return fmt.Errorf("%w: %w", Damaged, err)
	}
	for _, c := range nb.Cells {
		if c.Kind != "code" {
			d.block(string(c.Source))
			continue
		}
		fence(d, nb.Metadata.Kernel.Language, string(c.Source))
		for _, o := range c.Outputs {
			text := string(o.Text) + string(o.Data["text/plain"])
			if o.Name != "" {
				text += o.Name + ": " + o.Value
			}
			if len(text) > maxOutput {
				text = text[:maxOutput] + "\n..."
			}
			fence(d, "text", text)
			if o.Data["image/png"] != "" || o.Data["image/jpeg"] != "" {
				d.block("[image]")
			}
		}
	}
	return nil
}

// fence writes code between marks longer than any inside.
func fence(d *draft, language, code string) {
	if strings.TrimSpace(code) == "" {
		return
	}
	mark := "```"
	for strings.Contains(code, mark) {
		mark += "`"
	}
	d.block(mark + oneLine(language) + "\n" + strings.TrimRight(code, "\n") + "\n" + mark)
}
