// Package sqlite keeps the rows of the store in one file of a data folder.
//
// Begin with engine.go, which opens the file and carries out commits. file.go has the form of a new file, its connections,
// the reserve and the free pages; log.go judges the write-ahead log that a killed process left; migrate.go changes the
// tables; copy.go reads and writes copies; damaged.go says how to go on without the file; dialect.go has the words and the
// function that the store's statements use.
//
// Everything about the file belongs here, and nothing about the rows in it. The lock of the folder is in package folder,
// as every server has one.
package sqlite
