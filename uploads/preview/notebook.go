package preview

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

// Limits of a notebook.
const (
	MaxNotebook = 16 << 20 // bytes that are read
	maxCells    = 300
	maxSource   = 64 << 10 // bytes per cell
	maxOutput   = 20_000   // bytes per output
	maxOutputs  = 20       // outputs per cell
	maxWords    = 512 << 10
	maxPicture  = 3 << 20 // bytes of one picture, encoded for the page
	maxPictures = 8 << 20 // bytes of all pictures
)

// Notebook is a Jupyter notebook.
type Notebook struct {
	Language string // language of the code, empty if unknown
	Cells    []Cell
	More     int  // cells left out
	Cut      bool // parts of the cells are left out
}

// Cell is text, code with its output, or raw content.
type Cell struct {
	Kind    string // markdown, code or raw
	Source  string
	Count   int // number of its last run, 0 if unknown
	Outputs []Output
}

// Output is a cell's output: one of the fields.
type Output struct {
	Text     string
	Markdown string
	Picture  string // data URL
	Error    string
}

// lines is a text of a notebook: one string or a list of them.
type lines string

func (l *lines) UnmarshalJSON(b []byte) error {
	var list []string
	var one string
	if json.Unmarshal(b, &list) == nil {
		one = strings.Join(list, "")
	} else if json.Unmarshal(b, &one) != nil {
		one = "" // other data isn't text
	}
	*l = lines(one)
	return nil
}

// number is a number; other values are 0.
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	var v int
	if json.Unmarshal(b, &v) == nil {
		*n = number(v)
	}
	return nil
}

type output struct {
	Text      lines            `json:"text"`
	Data      map[string]lines `json:"data"`
	Name      string           `json:"ename"`
	Value     string           `json:"evalue"`
	Traceback lines            `json:"traceback"`
}

// ReadNotebook parses a notebook. ok is false for other files.
func ReadNotebook(data []byte) (nb Notebook, ok bool) {
	var in struct {
		Cells []struct {
			Kind    string   `json:"cell_type"`
			Source  lines    `json:"source"`
			Count   number   `json:"execution_count"`
			Outputs []output `json:"outputs"`
		} `json:"cells"`
		Metadata struct {
			Kernel struct {
				Language string `json:"language"`
			} `json:"kernelspec"`
			Language struct {
				Name string `json:"name"`
			} `json:"language_info"`
		} `json:"metadata"`
	}
	if json.Unmarshal(data, &in) != nil || in.Cells == nil {
		return Notebook{}, false
	}
	for _, l := range []string{in.Metadata.Language.Name, in.Metadata.Kernel.Language} {
		if nb.Language == "" && regexp.MustCompile(`^[A-Za-z0-9+#-]{1,20}$`).MatchString(l) {
			nb.Language = l
		}
	}
	left := allowance{words: maxWords, pictures: maxPictures}
	for i, c := range in.Cells {
		if i == maxCells || left.words <= 0 {
			nb.More = len(in.Cells) - i
			break
		}
		cell := Cell{Kind: c.Kind, Count: max(int(c.Count), 0), Source: left.take(string(c.Source), maxSource)}
		for k, o := range c.Outputs {
			if k == maxOutputs {
				left.cut = true
				break
			}
			if out := left.output(o); out != (Output{}) {
				cell.Outputs = append(cell.Outputs, out)
			}
		}
		nb.Cells = append(nb.Cells, cell)
	}
	nb.Cut = left.cut
	return nb, true
}

// allowance is the remaining budget for a notebook.
type allowance struct {
	words, pictures int
	cut             bool
}

func (a *allowance) take(s string, most int) string {
	most = max(min(most, a.words), 0)
	a.cut = a.cut || len(s) > most
	s = cut(s, most)
	a.words -= len(s)
	return s
}

// output selects the best representation. Pages and drawings aren't supported: their text is shown.
func (a *allowance) output(o output) Output {
	for _, kind := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		if address, ok := a.picture(kind, string(o.Data[kind])); ok {
			return Output{Picture: address}
		}
	}
	switch text := string(o.Text) + string(o.Data["text/plain"]); {
	case o.Name != "" || o.Traceback != "":
		trace := string(o.Traceback)
		if trace == "" {
			trace = o.Name + ": " + o.Value
		}
		return Output{Error: a.take(bare(trace), maxOutput)}
	case o.Data["text/markdown"] != "":
		return Output{Markdown: a.take(string(o.Data["text/markdown"]), maxOutput)}
	default:
		return Output{Text: a.take(bare(text), maxOutput)}
	}
}

// picture returns the data URL of an image of the declared type.
func (a *allowance) picture(kind, packed string) (string, bool) {
	packed = strings.Join(strings.Fields(packed), "")
	if packed == "" {
		return "", false
	}
	if len(packed) > maxPicture || len(packed) > a.pictures {
		a.cut = true
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(packed)
	if err != nil || !bytes.HasPrefix(data, []byte(map[string]string{
		"image/png": "\x89PNG\r\n", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF",
	}[kind])) {
		return "", false
	}
	a.pictures -= len(packed)
	return "data:" + kind + ";base64," + packed, true
}

// bare returns a text without the signs that colour it in a terminal.
func bare(s string) string {
	return regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]").ReplaceAllString(s, "")
}
