package views

import "time"

// KnowledgePage is GET /workspace/knowledge.
type KnowledgePage struct {
	Shell       Shell
	Collections []CollectionRow
	New         bool   // the form for a new one is open
	Name        string // entered name
	Problem     string // why none was created
}

// CollectionRow is a collection of the list.
type CollectionRow struct {
	ID, Name, About string
	Documents       int
	Shared          bool // shared with the reader by its owner
}

// CollectionPage is GET /workspace/knowledge/{id}.
type CollectionPage struct {
	Shell        Shell
	Collection   CollectionRow
	Notice       *Notice
	Owns, Writes bool // permissions of the reader
	Operator     bool // the reader runs the server: folders of it can be sources
	Folders      []string
	Sources      []KnowledgeSource
	Documents    []KnowledgeDocument
	Earlier      int // offset of the documents before these, -1 for none
	Later        int // offset of the documents after these, -1 for none
	Query        string
	Searched     bool
	Hits         []KnowledgeHit
	Members      []ProjectMember
	Groups       []string // groups it can be shared with
	Accounts     bool     // other accounts exist to share it with
	Working      bool     // a source is being read, or about to be
	Typed        Refused
}

// KnowledgeSource is a source of documents.
type KnowledgeSource struct {
	ID, Kind, Address string
	State             string // pending, ready or failed
	Problem           string // in the reader's language
	Every             string // interval, in the reader's language
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
	Why      string // reason, in the reader's language
	Bytes    int64
	Uploaded bool // it can be deleted individually
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
	Address    string // address of a web page
	File       FileView
}

// KnowledgeURL is the address of the page of all collections of documents.
const KnowledgeURL = "/workspace/knowledge"

// KnowledgeActionsURL is the address that creates a collection.
const KnowledgeActionsURL = "/ui/knowledge"
