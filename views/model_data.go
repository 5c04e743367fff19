package views

import "time"

// ExportURL is the address that downloads all of the reader's data.
const ExportURL = "/api/export"

// Data is the section about exports and backups.
type Data struct {
	Lang    string
	Backups *Backups // nil unless the reader owns the installation
	Imports *Imports // nil if nothing can be imported
}

// ImportURL is the address that imports exports of other apps.
const ImportURL = "/ui/import"

// Imports is the part about exports of other apps.
type Imports struct {
	Problem string // why an export wasn't read, or an action failed
	Preview *ImportPreview
	Done    string // import just confirmed
	Undone  bool   // an import was just undone
	Kept    int    // chats of it that were kept
	Earlier []Import
}

// Import is one import.
type Import struct {
	ID, App string
	At      time.Time
	Chats   int
}

// ImportPreview describes an import and its omissions.
type ImportPreview struct {
	Import
	Messages, Files                                                   int
	Existing, Branches, Missing, Refused, Empty, Unreadable, TooLarge int
	Titles                                                            []ImportTitle
}

// ImportTitle is one chat of a preview.
type ImportTitle struct {
	Title string
	At    time.Time
}

// Left returns the catalogue keys and counts of the omissions.
func (p *ImportPreview) Left() (out []ImportLeft) {
	for _, l := range []ImportLeft{{"data.chats.left.existing", p.Existing}, {"data.chats.left.branches", p.Branches}, {"data.chats.left.missing", p.Missing},
		{"data.chats.left.refused", p.Refused}, {"data.chats.left.empty", p.Empty}, {"data.chats.left.unreadable", p.Unreadable},
		{"data.chats.left.large", p.TooLarge}} {
		if l.N > 0 {
			out = append(out, l)
		}
	}
	return out
}

// ImportLeft counts one kind of omission.
type ImportLeft struct {
	Key string
	N   int
}

// AppName returns the display name of an app with importable exports.
func AppName(app string) string {
	switch app {
	case "chatgpt":
		return "ChatGPT"
	case "claude":
		return "Claude"
	case "open-webui":
		return "Open WebUI"
	}
	return app
}

// Backups describes the server's backups.
type Backups struct {
	Planned bool
	Dir     string
	Last    time.Time // zero if there is none
	Size    int64     // size of the last one, in bytes
	Count   int
	Next    time.Time // zero if none is planned
	Problem string    // why the last one failed
}
