// Package convert converts documents to Markdown. [Convert] takes bytes and returns text with anchors for pages, slides
// and sheets; each format has its own file. [Main] runs it in a separate process, since documents are untrusted.
// Package documents and its callers decide when a document is converted and in which sandbox.
//
// Each reader gets bytes and writes to a draft with a limit; readers don't access files, threads, the network or other
// programs.
package convert
