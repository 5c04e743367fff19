// Package convert turns documents into Markdown. [Convert] takes bytes and gives text with
// anchors for pages, slides and sheets; each format has its own file. [Main] is the program
// that does so in a process of its own, since documents come from anywhere. When a
// document is converted, and in which jail, is decided in package documents and above.
//
// The package is a flat list of readers. A reader gets bytes and writes to a draft
// that has a limit; files, threads, the network and other programs are not for it.
package convert
