package views

import (
	"mime"
	"net/url"
	"path"
	"strings"
	"time"

	"fawn/sandbox/linediff"
)

// File is a file presented by the agent or sent by the reader.
type File struct {
	ThreadID string
	Path     string // virtual path without leading slash: mnt/user-data/outputs/report.md
	Bytes    int64
	Kind     FileKind // empty: found from the name
	Modified time.Time
	New      bool   // created in this turn (as opposed to changed)
	Share    string // token of the link it is read through; empty on its owner's pages
	Unseen   string // format of a picture that models can't see; empty otherwise
	Raw      string // address of the original if it isn't among the thread's files
}

// PageURL returns the address of the page of the file.
func (f File) PageURL() string {
	if f.Share != "" {
		return SharedFileURL(f.Share, f.Path)
	}
	return FileURL(f.ThreadID, f.Path)
}

// ViewURL returns the address that shows the file inline with a policy that isolates it.
func (f File) ViewURL() string {
	if f.Share != "" {
		return SharedViewURL(f.Share, f.Path)
	}
	return ViewURL(f.ThreadID, f.Path)
}

// RawURL returns the address of the file itself.
func (f File) RawURL() string {
	if f.Raw != "" {
		return f.Raw
	}
	if f.Share != "" {
		return SharedViewURL(f.Share, f.Path)
	}
	return ArtifactURL(f.ThreadID, f.Path)
}

// Installs reports whether the file is a skill that its reader may install.
func (f File) Installs() bool {
	return f.Share == "" && f.ThreadID != "" && strings.EqualFold(path.Ext(f.Path), ".skill")
}

// ThumbURL returns the address of a small version of a picture.
func (f File) ThumbURL() string { return f.ViewURL() + "?thumb=96" }

// PreviewURL returns the address of a version of a picture as large as a conversation shows it.
func (f File) PreviewURL() string { return f.ViewURL() + "?thumb=480" }

// InlineURL is ViewURL with the page at which a PDF opens.
func (f FileView) InlineURL() string {
	if n, ok := strings.CutPrefix(f.At, "page-"); ok && f.Kind == KindPDF {
		return f.ViewURL() + "#page=" + n
	}
	return f.ViewURL()
}

// DownloadURL returns the address of the file as an attachment.
func (f File) DownloadURL() string { return f.RawURL() + "?download=true" }

// Name returns the last part of the path.
func (f File) Name() string { return path.Base(f.Path) }

// FileKind chooses how a file is shown.
type FileKind string

// The kinds of files. KindOther has no preview, only a download.
const (
	KindMarkdown FileKind = "markdown"
	KindHTML     FileKind = "html"
	KindImage    FileKind = "image"
	KindSVG      FileKind = "svg"
	KindPDF      FileKind = "pdf"
	KindTable    FileKind = "table"    // CSV and TSV
	KindDocument FileKind = "document" // shown by its converted text
	KindSheets   FileKind = "sheets"   // the same for workbooks
	KindAudio    FileKind = "audio"
	KindVideo    FileKind = "video"
	KindText     FileKind = "text" // code and plain text
	KindNotebook FileKind = "notebook"
	KindArchive  FileKind = "archive"
	KindSkill    FileKind = "skill"
	KindOther    FileKind = "other"
)

// Textual reports whether files of this kind have a source view, for which the handler fills FileView.Text.
func (k FileKind) Textual() bool {
	switch k {
	case KindMarkdown, KindHTML, KindSVG, KindTable, KindNotebook, KindText:
		return true
	}
	return false
}

// KindOf guesses the kind of a file from its name or, if that is inconclusive, from its media type (may be empty).
func KindOf(name, mediaType string) FileKind {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return KindMarkdown
	case ".html", ".htm", ".xhtml":
		return KindHTML
	case ".svg":
		return KindSVG
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".ico":
		return KindImage
	case ".pdf":
		return KindPDF
	case ".docx", ".docm", ".dotx", ".doc", ".dot", ".odt", ".ott", ".rtf", ".pptx", ".pptm", ".ppsx", ".ppt", ".pps",
		".odp", ".epub", ".eml", ".msg", ".mht", ".mhtml", ".fodt", ".fodp":
		return KindDocument
	case ".xlsx", ".xlsm", ".xltx", ".xls", ".xlt", ".ods", ".fods", ".slk":
		return KindSheets
	case ".zip", ".jar", ".whl", ".tar", ".tgz":
		return KindArchive
	case ".gz":
		if strings.HasSuffix(strings.ToLower(name), ".tar.gz") {
			return KindArchive
		}
	case ".skill":
		return KindSkill
	case ".ipynb":
		return KindNotebook
	case ".csv", ".tsv":
		return KindTable
	case ".mp3", ".wav", ".ogg", ".oga", ".flac", ".m4a", ".aac", ".opus":
		return KindAudio
	case ".mp4", ".webm", ".mov", ".ogv", ".m4v":
		return KindVideo
	case ".txt", ".text", ".log", ".go", ".py", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".css", ".scss", ".json",
		".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".sh", ".bash", ".zsh", ".fish", ".ps1",
		".bat", ".rs", ".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".kt", ".swift", ".rb", ".php", ".pl", ".lua", ".r",
		".sql", ".xml", ".tex", ".bib", ".diff", ".patch", ".proto", ".graphql", ".vue", ".svelte", ".dockerfile",
		".mod", ".sum", ".srt", ".vtt":
		return KindText
	}
	switch path.Base(name) {
	case "Makefile", "Dockerfile", "LICENSE", "README", ".gitignore":
		return KindText
	}
	t, _, err := mime.ParseMediaType(mediaType)
	switch {
	case err != nil:
		return KindOther
	case t == "image/svg+xml":
		return KindSVG
	case t == "text/html":
		return KindHTML
	case t == "text/csv", t == "text/tab-separated-values":
		return KindTable
	case t == "application/pdf":
		return KindPDF
	case t == "application/json", strings.HasPrefix(t, "text/"):
		return KindText
	case strings.HasPrefix(t, "image/"):
		return KindImage
	case strings.HasPrefix(t, "audio/"):
		return KindAudio
	case strings.HasPrefix(t, "video/"):
		return KindVideo
	}
	return KindOther
}

// PreviewBytes limits the text in FileView.Text.
const PreviewBytes = 512 << 10

// Panel is the file panel next to the conversation, or the whole file page.
type Panel struct {
	ThreadID string
	Title    string          // title of the thread, for the way back on the file page
	File     *FileView       // nil shows the list
	Changes  *Changes        // a run's changes, instead of a file
	Files    []File          // all files of the thread, newest first
	Code     bool            // show the source tab first (?tab=code)
	Words    bool            // show the text of a PDF first (?tab=text)
	Share    string          // token of the link it is shown through; empty on its owner's pages
	Shared   map[string]bool // with Share: paths of the files that can be read through it
	Zip      bool            // with the list: there are files for an archive of results
	ZipAll   bool            // with the list: uploads or working files make the archive larger
}

// Home returns the page of the thread.
func (p Panel) Home() string {
	if p.Share != "" {
		return SharedURL(p.Share)
	}
	return ThreadURL(p.ThreadID)
}

// FileView is one file with as much content as its preview needs.
type FileView struct {
	File
	Text     string          // content of textual kinds, at most PreviewBytes, cut at a rune; empty for others
	Cut      bool            // Text is not all
	Missing  bool            // the file is gone
	Editable bool            // it can be edited
	Editing  bool            // Text is in a form
	Sum      string          // with Editing: hash of the file that Text replaces
	Theirs   []linediff.Line // with Editing: differences from the file's current content to Text
	Trouble  string          // with Editing: why it wasn't saved
	Growing  bool            // the model is still writing it: Text is the part so far
	Problem  string          // why it cannot be previewed, in the reader's language
	At       string          // place to open at, such as page-7; empty is the beginning
	// Converted means that Text was converted from a document.
	Converted bool
	Lack      string // omissions of the conversion, in the reader's language
	Waiting   bool   // the conversion is in progress; Lack has the progress
	// Encoding is the detected encoding of an upload's text, if ambiguous. Encodings are the alternatives, empty for
	// readers who can't choose; Chosen means that a person chose it.
	Encoding  string
	Encodings []string
	Chosen    bool
	Book      *Book
	Archive   *Archive
	Notebook  *Notebook
	Versions  int          // number of known versions, including the current one
	History   *FileHistory // shown in place of the file
}

// FilePage is GET /workspace/chats/{id}/files/{path...}.
type FilePage struct {
	Shell Shell
	Panel Panel
}

// RunChanges is one line about a run's file changes.
type RunChanges struct {
	Run            string
	Files          int
	Added, Removed int // lines
}

// Changes lists a run's changes by file.
type Changes struct {
	RunChanges
	List []Change
	More bool // there is more than List shows
}

// Change is the change of one file.
type Change struct {
	File         File
	What         string // created, modified, deleted or symlink_created
	Was, Is      int64  // sizes in bytes, -1 if the file was missing
	Added, Taken int    // lines
	Lines        []linediff.Line
	Cut          bool   // Lines are incomplete
	Why          string // why they are missing, as the last part of a catalogue key; empty with Lines
	Gone         bool   // it can no longer be opened
}

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
