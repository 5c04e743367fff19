package middleware

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"fawn/agent"
	"fawn/sandbox/files"
	"fawn/uploads"
)

// maxListed limits the files one note names.
const maxListed = 10

// Uploads lists the files of this turn for the model: files named in the message, new since the last turn, or written
// into the state by a client, each once per thread. The message stays unchanged; the list is a note before it. Files
// added during an interrupted answer are listed after the last message, because nothing before it may change. The state
// shows the files of this turn only.
//
// Images attached to the message are shown to a model with vision, each in a note after it. Documents are described
// with the outline of their Markdown, for which the turn waits briefly.
func Uploads(dirs files.Dirs, documents uploads.Documents) agent.Middleware {
	return agent.Middleware{
		Name: "uploads",
		BeforeAgent: func(ctx context.Context, t *agent.Turn) (agent.State, error) {
			anchor := agent.LastGenuine(t.State.Messages)
			if anchor == nil {
				return agent.State{}, nil
			}
			tree, err := dirs.Open(t.ThreadID)
			if errors.Is(err, fs.ErrNotExist) {
				return tellUploads(&t.State, anchor, nil, func(string) bool { return false }, nil), nil
			}
			if err != nil {
				return agent.State{}, err
			}
			defer tree.Close()
			list, err := settled(ctx, documents, tree, t.ThreadID, knownFiles(&t.State))
			if err != nil {
				return agent.State{}, fmt.Errorf("list uploads: %w", err)
			}
			var onDisk []agent.Upload
			for _, f := range list {
				onDisk = append(onDisk, agent.Upload{Filename: f.Filename, Size: f.Size, Path: f.VirtualPath,
					Extension: f.Extension})
			}
			there := func(p string) bool { _, err := tree.Stat(p); return err == nil }
			patch := tellUploads(&t.State, anchor, onDisk, there, aboutAll(t.Options.Vision, aboutFiles(tree, list)))
			switch pictures := attached(anchor, patch.Told); {
			case len(pictures) == 0:
			case t.Options.Vision:
				patch.Notes = append(patch.Notes, pictureNotes(&t.State, anchor, pictures)...)
			default:
				t.Note(BlindKey, "the model cannot see pictures; it got them as files")
			}
			return patch, nil
		},
	}
}

// aboutAll adds a remark about images that the model can't see.
func aboutAll(vision bool, about aboutFile) aboutFile {
	return func(name string) (string, bool) {
		if format := uploads.UnseenPicture(name); format != "" {
			return "  A picture in the " + format +
				" format, which cannot be shown to you. Say so if it matters; programs in bash may read or convert it.\n", false
		}
		if !vision && isPicture(name) {
			return "  A picture, which you cannot see. Say so if it matters; programs in bash may read it.\n", false
		}
		return about(name)
	}
}

// aboutFile describes a file's state, and whether a text version exists.
type aboutFile func(name string) (text string, readable bool)

// tellUploads returns the patch of a turn that begins with anchor.
func tellUploads(s *agent.State, anchor *agent.Message, onDisk []agent.Upload, there func(path string) bool,
	about aboutFile) agent.State {
	known := knownFiles(s)
	fresh := freshFiles(onDisk, known, namedFiles(anchor))
	for _, f := range s.UploadedFiles {
		if clean, ok := posted(f); ok && !has(known, f.Filename) && !has(fresh, f.Filename) {
			fresh = append(fresh, agent.ToldFile{Upload: clean, Missing: !there(clean.Path)})
		}
	}
	told, turn := []agent.ToldFile{}, []agent.Upload{}
	for _, f := range known {
		if (f.Missing || there(f.Path)) && !has(fresh, f.Filename) {
			told = append(told, f)
		}
	}
	for i := range fresh {
		fresh[i].Message = anchor.ID
	}
	for _, f := range append(told, fresh...) {
		if f.Message == anchor.ID {
			turn = append(turn, f.Upload)
		}
	}
	var patch agent.State
	if told = append(told, fresh...); !slices.Equal(told, s.Told) {
		patch.Told = told
	}
	if !slices.Equal(turn, s.UploadedFiles) {
		patch.UploadedFiles = turn
	}
	if len(fresh) > 0 {
		patch.Notes = []agent.Note{uploadNote(s, anchor, fresh, about)}
	}
	return patch
}

// knownFiles returns the files the model was told about. Older versions kept them in the state.
func knownFiles(s *agent.State) []agent.ToldFile {
	if s.Told != nil || !slices.ContainsFunc(s.Notes, func(n agent.Note) bool { return n.Kind == "uploads" }) {
		return s.Told
	}
	var known []agent.ToldFile
	for _, f := range s.UploadedFiles {
		known = append(known, agent.ToldFile{Upload: f})
	}
	return known
}

func has(list []agent.ToldFile, name string) bool {
	return slices.ContainsFunc(list, func(f agent.ToldFile) bool { return f.Filename == name })
}

// posted returns an entry a client wrote into the state, with a path of the thread's own.
func posted(f agent.Upload) (agent.Upload, bool) {
	f.Filename, f.Path = norm.NFC.String(f.Filename), norm.NFC.String(f.Path)
	if f.Filename == "" || f.Filename != path.Base(f.Filename) {
		return f, false
	}
	if clean := path.Clean(f.Path); clean != f.Path || !strings.HasPrefix(clean, files.UserData+"/") {
		f.Path = files.Uploads + "/" + f.Filename
	}
	return f, true
}

// freshFiles returns the files a turn is told about: new ones, and replaced ones which the message names. Named files
// come first.
func freshFiles(onDisk []agent.Upload, known []agent.ToldFile, named []string) []agent.ToldFile {
	var first, rest []agent.ToldFile
	for _, f := range onDisk {
		i := slices.IndexFunc(known, func(k agent.ToldFile) bool { return k.Filename == f.Filename })
		isNamed := slices.Contains(named, f.Filename)
		switch {
		case i >= 0 && !known[i].Missing && (!isNamed || known[i].Size == f.Size):
		case isNamed:
			first = append(first, agent.ToldFile{Upload: f})
		default:
			rest = append(rest, agent.ToldFile{Upload: f})
		}
	}
	return append(first, rest...)
}

// namedFiles returns the base names in the message's files metadata.
func namedFiles(m *agent.Message) []string {
	list, _ := m.Kwargs["files"].([]any)
	var names []string
	for _, v := range list {
		f, _ := v.(map[string]any)
		name, _ := f["filename"].(string)
		if name != "" && name == path.Base(name) {
			names = append(names, norm.NFC.String(name))
		}
	}
	return names
}

func uploadNote(s *agent.State, anchor *agent.Message, all []agent.ToldFile, about aboutFile) agent.Note {
	n := agent.Note{ID: "uploads:" + anchor.ID, Message: anchor.ID, Place: agent.Prefix,
		Kind: "uploads", Text: uploadList(all, about)}
	if last := s.Messages[len(s.Messages)-1]; last.ID != anchor.ID { // a model has read the anchor already
		n.ID, n.Message, n.Place = "uploads:"+last.ID, last.ID, agent.After
	}
	return n
}

func uploadList(told []agent.ToldFile, about aboutFile) string {
	var b strings.Builder
	b.WriteString("<uploaded_files>\nThe user gave these files to this conversation:\n")
	searchable := false
	for i, f := range told {
		if i == maxListed {
			fmt.Fprintf(&b, "- and %d more; use ls or glob on %s\n", len(told)-maxListed, files.Uploads)
			break
		}
		big := size(f.Size)
		if f.Missing {
			big = "not in the folder yet"
		}
		fmt.Fprintf(&b, "- %s (%s)\n  Path: %s\n", shown(f.Filename), big, shown(f.Path))
		if about != nil {
			text, readable := about(f.Filename)
			b.WriteString(text)
			searchable = searchable || readable
		}
	}
	if searchable {
		b.WriteString("search_documents finds passages in them. Cite what you take from one where you say it, with file and page: [report.pdf, p. 7].\n")
	}
	b.WriteString("</uploaded_files>")
	return b.String()
}

// shown returns a name as a prompt can hold it. A lone ampersand stays, as it is common in names, opens no tag, and the
// model must be able to use the path.
func shown(name string) string { return strings.ReplaceAll(agent.Escape(name), "&amp;", "&") }

// size returns a file size for people and models.
func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
}
