package tools

import (
	"fawn/agent"
	"fawn/uploads"
)

// Groups of tools that an agent can be limited to. Tools without a group are
// always there.
const (
	GroupRead  = "file:read"
	GroupWrite = "file:write"
)

// Limits are limits of the tools' input and output.
type Limits struct {
	// ListChars is the length in characters of a listing.
	ListChars int
	// ReadChars limits the result of read_file, in characters.
	ReadChars int
	// WriteBytes is the size of one write_file that does not append; 0 means any.
	WriteBytes int
	// ScanBytes limits the part of a file that read_file and str_replace process.
	ScanBytes int64
	// GlobResults and GrepResults are the most results that can be asked for.
	GlobResults, GrepResults int
}

// DefaultLimits returns 20,000 and 50,000 characters, 80 KiB per write, 10 MiB per scan, 1,000 paths
// and 500 matching lines.
func DefaultLimits() Limits {
	return Limits{ListChars: 20_000, ReadChars: 50_000, WriteBytes: 80 << 10, ScanBytes: 10 << 20, GlobResults: 1000,
		GrepResults: 500}
}

// Builtin returns the tools except [Bash], which needs a sandbox. Call it once and share the list between all runs: it
// holds the locks that serialize changes of a file. Offer [ViewImage] only to models that read images.
func Builtin(open Files, limits Limits, documents uploads.Documents) []*agent.Tool {
	return BuiltinWith(open, limits, documents, nil)
}

// BuiltinWith is Builtin for runs that also search and read collections of documents; nil has none.
func BuiltinWith(open Files, limits Limits, documents uploads.Documents, knowledge Knowledge) []*agent.Tool {
	s := &set{open: open, limits: limits, documents: documents, knowledge: knowledge, locks: NewLocks()}
	return []*agent.Tool{
		reading(New("ls", GroupRead, lsText, s.ls)),
		reading(New("glob", GroupRead, globText, s.glob)),
		reading(New("grep", GroupRead, grepText, s.grep)),
		reading(New("read_file", GroupRead, readFileText, s.readFile)),
		writing(New("write_file", GroupWrite, writeFileText, s.writeFile)),
		writing(New("str_replace", GroupWrite, strReplaceText, s.strReplace)),
		New("list_uploaded_files", GroupRead, listUploadsText, s.listUploads),
		New(SearchDocuments, GroupRead, searchDocumentsText, s.searchDocuments),
		reading(New("present_files", "", presentFilesText, s.presentFiles)),
		reading(New(ViewImage, GroupRead, viewImageText, s.viewImage)),
		Clarification(),
	}
}
