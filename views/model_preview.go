package views

import "time"

// Book is a workbook with the rows of one sheet.
type Book struct {
	Sheets []Sheet
	More   int // sheets that are not listed
	Shown  int // number of the sheet that is shown
	Rows   [][]string
	Total  int // rows the sheet has
	Width  int // columns it has
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
	Bytes   int64 // of all of them, unpacked
	Cut     bool  // there are more than were counted
	Outside bool  // a name leads out of the folder that it would be unpacked to
	// Of a skill: the path of its text, and the front matter. FileView.Text is the text.
	Main   string
	Fields [][2]string
}

// ArchiveEntry is a file as declared by an archive.
type ArchiveEntry struct {
	Name     string
	Bytes    int64
	Modified time.Time // zero where it is not known
}

// Notebook is a Jupyter notebook.
type Notebook struct {
	Language string // of its code
	Cells    []Cell
	More     int  // cells that are left out
	Cut      bool // something in the cells is left out
}

// Cell is text, code with its output, or raw content.
type Cell struct {
	Kind    string // markdown, code or another
	Source  string
	Count   int // the number of its last run, 0 where that is not known
	Outputs []CellOutput
}

// CellOutput is a cell's output: one of the fields. Picture is a data URL.
type CellOutput struct {
	Text     string
	Markdown string
	Picture  string
	Error    string
}
