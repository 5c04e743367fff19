// Package skilltool makes and reads the files that skills work with: Word documents, PDFs, slides,
// tables and charts. The program shows itself to sandboxes under the name of this package, as a
// plain one has neither Python nor an office suite. It runs inside the sandbox, with the rights of
// any other command there.
package skilltool
