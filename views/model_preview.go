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
	// Of a skill: where its text is, and what stands in front of that. FileView.Text is the text.
	Main   string
	Fields [][2]string
}

// ArchiveEntry is a file in an archive, as that says.
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

// Cell is a text, code with what came of it, or something else that is shown as it is.
type Cell struct {
	Kind    string // markdown, code or another
	Source  string
	Count   int // the number of its last run, 0 where that is not known
	Outputs []CellOutput
}

// CellOutput is what came of a cell: one of the fields. Picture is an address with the data
// in it.
type CellOutput struct {
	Text     string
	Markdown string
	Picture  string
	Error    string
}
