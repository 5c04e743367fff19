// Package convert turns documents into Markdown. [Convert] takes bytes and gives text with
// anchors for pages, slides and sheets; each format has its own file. [Main] is the program
// that does so in a process of its own, since documents come from anywhere. When a
// document is converted, and in which jail, is decided in package documents and above.
package convert
