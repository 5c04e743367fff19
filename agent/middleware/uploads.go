package middleware

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fawn/agent"
	"fawn/sandbox"
	"fawn/uploads"
)

// maxListed bounds the files one note names.
const maxListed = 10

// Uploads tells the model which files came with this turn: those named in the message and
// those that are new since the last turn, each once per thread. The message itself stays
// as it was sent; the list is a note in front of it. Files that come while an answer is
// interrupted are told behind the last message, as nothing before it may change.
func Uploads(dirs sandbox.Dirs) agent.Middleware {
	return agent.Middleware{
		Name: "uploads",
		BeforeAgent: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			anchor := agent.LastGenuine(t.State.Messages)
			if anchor == nil {
				return agent.State{}, nil
			}
			onDisk, err := listUploads(dirs, t.ThreadID)
			if err != nil || slices.Equal(onDisk, t.State.UploadedFiles) {
				return agent.State{}, err
			}
			patch := agent.State{UploadedFiles: onDisk}
			if onDisk == nil { // all deleted: clear
				patch.UploadedFiles = []agent.Upload{}
			}
			if fresh := freshFiles(onDisk, t.State.UploadedFiles, namedFiles(anchor)); len(fresh) > 0 {
				patch.Notes = []agent.Note{uploadNote(&t.State, anchor, fresh)}
			}
			return patch, nil
		},
	}
}

// freshFiles are the files a turn is told about: new ones, and replaced ones which the
// message names. Named files come first.
func freshFiles(onDisk, known []agent.Upload, named []string) []agent.Upload {
	var first, rest []agent.Upload
	for _, f := range onDisk {
		i := slices.IndexFunc(known, func(k agent.Upload) bool { return k.Filename == f.Filename })
		isNamed := slices.Contains(named, f.Filename)
		switch {
		case i >= 0 && (!isNamed || known[i].Size == f.Size):
		case isNamed:
			first = append(first, f)
		default:
			rest = append(rest, f)
		}
	}
	return append(first, rest...)
}

func listUploads(dirs sandbox.Dirs, thread string) ([]agent.Upload, error) {
	files, err := dirs.Open(thread)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer files.Close()
	list, err := uploads.Files(files, thread)
	if err != nil {
		return nil, fmt.Errorf("list uploads: %w", err)
	}
	var out []agent.Upload
	for _, f := range list.Files {
		out = append(out, agent.Upload{Filename: f.Filename, Size: f.Size, Path: f.VirtualPath, Extension: f.Extension})
	}
	return out, nil
}

// namedFiles are the base names in the message's files metadata.
func namedFiles(m *agent.Message) []string {
	list, _ := m.Kwargs["files"].([]any)
	var names []string
	for _, v := range list {
		f, _ := v.(map[string]any)
		name, _ := f["filename"].(string)
		if name != "" && name == path.Base(name) {
			names = append(names, name)
		}
	}
	return names
}

func uploadNote(s *agent.State, anchor *agent.Message, files []agent.Upload) agent.Note {
	n := agent.Note{ID: "uploads:" + anchor.ID, Message: anchor.ID, Place: agent.Prefix, Kind: "uploads", Text: uploadList(files)}
	if last := s.Messages[len(s.Messages)-1]; last.ID != anchor.ID { // a model has read the anchor already
		n.ID, n.Message, n.Place = "uploads:"+last.ID, last.ID, agent.After
	}
	return n
}

func uploadList(files []agent.Upload) string {
	var b strings.Builder
	b.WriteString("<uploaded_files>\nThe user gave these files to this conversation:\n")
	for i, f := range files {
		if i == maxListed {
			fmt.Fprintf(&b, "- and %d more; use ls or glob on %s\n", len(files)-maxListed, sandbox.Uploads)
			break
		}
		fmt.Fprintf(&b, "- %s (%s)\n  Path: %s\n", shown(f.Filename), size(f.Size), shown(f.Path))
	}
	b.WriteString("</uploaded_files>")
	return b.String()
}

// shown is a name as a prompt can hold it. A lone ampersand stays, as it is common in
// names, opens no tag, and the model must be able to use the path.
func shown(name string) string { return strings.ReplaceAll(agent.Escape(name), "&amp;", "&") }

// size is a file size for people and models.
func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
}
