// Package skilltool creates and reads the files that skills work with: Word documents, PDFs, slides, tables and charts.
// Sandboxes see the program under this package's name, since a plain one has neither Python nor an office suite. It
// runs inside the sandbox, with the rights of any other command there.
package skilltool
