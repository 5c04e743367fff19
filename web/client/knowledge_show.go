package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// maxShown limits the printed characters of a passage.
const maxShown = 400

// ShowJSON prints one object.
func ShowJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// line returns text on one line, without control characters.
func line(text string) string { return strings.Join(strings.Fields(plain(text)), " ") }

// ShowCollections prints a table of collections.
func ShowCollections(w io.Writer, list []Collection) error {
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, c := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", line(c.Name), counted(c.Documents), c.Role, line(c.About))
	}
	err := t.Flush()
	for row := range strings.Lines(table.String()) {
		if err == nil {
			_, err = fmt.Fprintln(w, strings.TrimRight(row, " \n"))
		}
	}
	return err
}

func counted(documents int) string {
	if documents == 1 {
		return "1 document"
	}
	return fmt.Sprintf("%d documents", documents)
}

// ShowCollection prints a collection with its sources and documents.
func ShowCollection(w io.Writer, c Collection, sources []Source, documents []Document) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n", line(c.Name))
	if c.About != "" {
		fmt.Fprintf(t, "%s\n", line(c.About))
	}
	fmt.Fprint(t, "\nSources\n")
	for _, s := range sources {
		fmt.Fprintf(t, "  %s\n", SourceLine(s))
	}
	fmt.Fprintf(t, "\n%s\n", counted(len(documents)))
	for _, d := range documents {
		fmt.Fprintf(t, "  %s\n", DocumentLine(d))
	}
	return t.Flush()
}

// ShowPassages prints the results of a search.
func ShowPassages(w io.Writer, list []Passage) error {
	for i, p := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		head := "[" + line(p.Cite) + "]"
		if p.Heading != "" {
			head += " " + line(p.Heading)
		}
		text := line(p.Text)
		if utf8.RuneCountInString(text) > maxShown {
			text = string([]rune(text)[:maxShown]) + " …"
		}
		if _, err := fmt.Fprintf(w, "%s\n%s\n", head, text); err != nil {
			return err
		}
	}
	return nil
}

// ShowText prints the text of a document.
func ShowText(w io.Writer, d Document) error {
	_, err := io.WriteString(w, strings.TrimRight(plain(d.Text), "\n")+"\n")
	return err
}

// SourceLine describes a source and its state on one line.
func SourceLine(s Source) string {
	name := cmp.Or(line(s.Address), "uploaded files")
	switch {
	case s.Failed():
		return "FAILED  " + name + ": " + problem(s.Problem)
	case s.Pending():
		text := "…       " + name
		if s.Total > 0 {
			text += fmt.Sprintf(": %d of %d read", s.Done, s.Total)
		}
		return text
	}
	text := "ok      " + name
	if s.Kind != UploadSource || s.Total > 0 {
		text += ": " + counted(s.Total)
	}
	if s.Skipped > 0 {
		text += fmt.Sprintf(", %d other files skipped", s.Skipped)
	}
	return text
}

// problem explains in a sentence why a source couldn't be read.
func problem(said string) string {
	word, detail, _ := strings.Cut(said, " ")
	text := map[string]string{
		"forbidden":   "the configuration doesn't allow this folder any more; add it to knowledge.folders",
		"missing":     "this folder isn't there",
		"unreachable": "it can't be read",
		"many":        "it has more files than are read",
		"slow":        "reading it takes too long",
		"internal":    "the server failed; its log says why",
	}[word]
	if text == "" {
		return line(said)
	}
	if detail != "" {
		text += ": " + line(detail)
	}
	return text
}

// DocumentLine describes on one line whether a document is searched.
func DocumentLine(d Document) string {
	name := line(d.Name)
	switch {
	case d.Failed():
		return "FAILED  " + name + ": " + reason(d.Reason)
	case d.State == "pending":
		return "…       " + name
	case d.Reason != "":
		return "partly  " + name + ": " + reason(d.Reason)
	}
	return "ok      " + name
}

// reason explains why a document isn't searched, or only in part.
func reason(word string) string {
	return cmp.Or(map[string]string{
		"encrypted":   "it needs a password",
		"damaged":     "it is damaged, or doesn't match its name",
		"limits":      "it unpacks to more than is read",
		"long":        "its text is longer than is read",
		"scanned":     "its pages are pictures",
		"empty":       "it has no text",
		"unsupported": "its format isn't read",
		"xlsb":        "Excel's binary format isn't read; save it as .xlsx",
		"timeout":     "converting it took too long",
		"crashed":     "converting it failed",
		"full":        "the collection has no room for it",
		"large":       "the file is too large",
		"unreadable":  "the file can't be read",
	}[word], line(word))
}

// FailedAmong picks the documents of some names that couldn't be read.
func FailedAmong(documents []Document, source string, names []string) (out []Document) {
	for _, d := range documents {
		if d.Failed() && d.Source == source && slices.Contains(names, d.Name) {
			out = append(out, d)
		}
	}
	return out
}
