package views

import (
	"fawn/sandbox/linediff"
	"net/url"
	"time"
)

// FileHistory lists the versions of a file, with the chosen one's differences.
type FileHistory struct {
	List         []FileVersion // the newest first
	Lines        []linediff.Line
	Cut          bool   // Lines are incomplete
	Added, Taken int    // lines, since the chosen version
	Same         bool   // the file is unchanged
	Why          string // why there are no lines, as the last part of a catalogue key
}

// FileVersion is a content that a file had.
type FileVersion struct {
	ID      string
	Number  int
	At      time.Time
	Bytes   int64
	By      string // name of a tool, person or restore; empty if unknown
	Run     string // empty is none
	Kept    bool   // its content can be compared, saved and restored
	Current bool
	Chosen  bool
}

// VersionsURL returns the address of the page of a file's versions; version is the one to compare
// with, or empty.
func (f File) VersionsURL(version string) string {
	return f.PageURL() + "?versions=" + url.QueryEscape(version)
}

// PanelVersionsURL returns the same for the panel.
func (f File) PanelVersionsURL(version string) string {
	return PanelURL(f.ThreadID, f.Path) + "?versions=" + url.QueryEscape(version)
}

// VersionURL returns the address that downloads an earlier version of a file.
func (f File) VersionURL(version string) string {
	return ActionURL(f.ThreadID, "version/"+escapePath(f.Path)) + "?version=" + url.QueryEscape(version)
}

// RestoreURL returns the address that restores an earlier version.
func (f File) RestoreURL() string { return ActionURL(f.ThreadID, "restore/"+escapePath(f.Path)) }
