package middleware

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fawn/agent"
	"fawn/sandbox/files"
	"fawn/uploads"
)

// documentPatience limits a turn's wait for new documents: most are converted by then, and read_file waits for the
// others.
const documentPatience = 3 * time.Second

// settled lists a thread's uploads after waiting briefly for conversions of new documents.
func settled(ctx context.Context, documents uploads.Documents, tree *files.Files, thread string,
	known []agent.ToldFile) ([]uploads.File, error) {
	list, err := documents.Files(ctx, tree, thread)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range list.Files {
		if f.Conversion != nil && f.Conversion.State == uploads.Pending && !has(known, f.Filename) {
			names = append(names, f.Filename)
		}
	}
	if len(names) == 0 {
		return list.Files, nil
	}
	wait, cancel := context.WithTimeout(ctx, documentPatience)
	defer cancel()
	if err := documents.Await(wait, thread, names...); err != nil && wait.Err() == nil {
		return nil, err
	}
	if list, err = documents.Files(ctx, tree, thread); err != nil {
		return nil, err
	}
	return list.Files, nil
}

// aboutFiles describes a document: its Markdown's path and outline, or why there is none. Readable documents can be
// searched.
func aboutFiles(tree *files.Files, list []uploads.File) aboutFile {
	return func(name string) (string, bool) {
		i := slices.IndexFunc(list, func(f uploads.File) bool { return f.Filename == name })
		if i < 0 || list[i].Conversion == nil {
			return "", false
		}
		f, c := list[i], list[i].Conversion
		switch {
		case c.State == uploads.Pending:
			return "  It is still being converted to Markdown; read_file waits for that.\n", true
		case f.MarkdownVirtualPath == "":
			return "  No Markdown could be made of it: " + c.Why() + ".\n", false
		}
		var b strings.Builder
		fmt.Fprintf(&b, "  As Markdown: %s\n", shown(f.MarkdownVirtualPath))
		if c.Encoding != "" {
			fmt.Fprintf(&b, "  %s\n", encodingNote(c))
		}
		if why := c.Why(); why != "" {
			fmt.Fprintf(&b, "  Not all of it: %s.\n", why)
		}
		writeOutline(&b, tree, f.MarkdownVirtualPath)
		return b.String(), true
	}
}

// encodingNote names the encoding in which a text was read.
func encodingNote(c *uploads.Conversion) string {
	if c.Chosen {
		return "The user chose to have it read as " + c.Encoding + "."
	}
	return "Its encoding was guessed: it was read as " + c.Encoding +
		". If letters look wrong, say so; the user can choose another one at the file."
}

// writeOutline writes a text's headings with their lines, or its beginning. Unreadable files have none.
func writeOutline(b *strings.Builder, tree *files.Files, path string) {
	file, _, err := tree.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	o, err := uploads.ReadOutline(file)
	if err != nil {
		return
	}
	if len(o.Headings) == 0 {
		fmt.Fprintf(b, "  It has %d lines and begins:\n", o.Lines)
		for _, line := range o.Preview {
			b.WriteString("    " + shown(line) + "\n")
		}
		return
	}
	fmt.Fprintf(b, "  Outline of its %d lines:\n", o.Lines)
	for _, h := range o.Headings {
		fmt.Fprintf(b, "    L%d: %s\n", h.Line, shown(h.Title))
	}
}
