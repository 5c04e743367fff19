package views

import "time"

// KnowledgePage is GET /workspace/knowledge.
type KnowledgePage struct {
	Shell       Shell
	Collections []CollectionRow
	New         bool   // the form to make one is open
	Name        string // in it
	Problem     string // why none was made
}

// CollectionRow is a collection of the list.
type CollectionRow struct {
	ID, Name, About string
	Documents       int
	Shared          bool // with the reader, by its owner
}

// CollectionPage is GET /workspace/knowledge/{id}.
type CollectionPage struct {
	Shell        Shell
	Collection   CollectionRow
	Notice       *Notice
	Owns, Writes bool // what the reader may do
	Operator     bool // the reader runs the server: folders of it can be sources
	Folders      []string
	Sources      []KnowledgeSource
	Documents    []KnowledgeDocument
	Earlier      int // offset of the documents before these, -1 for none
	Later        int // of those after them, -1 for none
	Query        string
	Searched     bool
	Hits         []KnowledgeHit
	Members      []ProjectMember
	Groups       []string // that it can be shared with
	Accounts     bool     // there are others to share it with
	Working      bool     // a source is being read, or about to be
	Typed        Refused
}

// KnowledgeSource is where documents come from.
type KnowledgeSource struct {
	ID, Kind, Address string
	State             string // pending, ready or failed
	Problem           string // in the reader's language
	Every             string // the same
	Done, Total       int
	Skipped           int
	CheckedAt         time.Time
}

// KnowledgeDocument is a document of a collection.
type KnowledgeDocument struct {
	ID       int64
	Name     string
	Title    string
	State    string // pending, converted, partial or failed
	Why      string // in the reader's language
	Bytes    int64
	Uploaded bool // it can be deleted by itself
}

// KnowledgeHit is a passage that a search found.
type KnowledgeHit struct {
	URL     string
	Cite    string
	Heading string
	Text    string
}

// KnowledgeTextPage is GET /workspace/knowledge/{id}/documents/{document}.
type KnowledgeTextPage struct {
	Shell      Shell
	Collection CollectionRow
	Document   KnowledgeDocument
	Address    string // of a web page
	File       FileView
}

// KnowledgeURL is the page of all collections of documents.
const KnowledgeURL = "/workspace/knowledge"

// KnowledgeActionsURL makes a collection.
const KnowledgeActionsURL = "/ui/knowledge"
