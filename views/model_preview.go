package views

import "time"

// Book is a workbook with the rows of one sheet.
type Book struct {
	Sheets []Sheet
	More   int // sheets not listed
	Shown  int // number of the shown sheet
	Rows   [][]string
	Total  int // rows of the sheet
	Width  int // columns of the sheet
}

// Sheet is one of a workbook.
type Sheet struct {
	N     int
	Title string
}

// Archive is the list of the files in a file.
type Archive struct {
	Entries []ArchiveEntry
	Files   int
	Bytes   int64 // total unpacked size
	Cut     bool  // more entries than were counted
	Outside bool  // a name leads outside the target folder
	// Of a skill: the path of its text, and the front matter. FileView.Text is the text.
	Main   string
	Fields [][2]string
}

// ArchiveEntry is a file as declared by an archive.
type ArchiveEntry struct {
	Name     string
	Bytes    int64
	Modified time.Time // zero if unknown
}

// Notebook is a Jupyter notebook.
type Notebook struct {
	Language string // language of its code
	Cells    []Cell
	More     int  // cells left out
	Cut      bool // parts of the cells are left out
}

// Cell is text, code with its output, or raw content.
type Cell struct {
	Kind    string // markdown, code or another
	Source  string
	Count   int // number of its last run, 0 if unknown
	Outputs []CellOutput
}

// CellOutput is a cell's output: one of the fields. Picture is a data URL.
type CellOutput struct {
	Text     string
	Markdown string
	Picture  string
	Error    string
}
