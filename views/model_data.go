package views

import "time"

// ExportURL is where everything of the reader's is downloaded.
const ExportURL = "/api/export"

// Data is the section about exports and backups.
type Data struct {
	Lang    string
	Backups *Backups // nil for readers who don't run the installation
}

// Backups says how the server backs itself up.
type Backups struct {
	Planned bool
	Dir     string
	Last    time.Time // zero if there is none
	Size    int64     // of the last one, in bytes
	Count   int
	Next    time.Time // zero if none is planned
	Problem string    // why the last one failed
}
