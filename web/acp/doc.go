// Package acp lets editors use an agent: it speaks the Agent Client Protocol with an editor, and the API with a server, at
// which sessions are threads. The files and terminals of the editor's folder are tools that this side carries out, so that
// what is not saved yet counts and the editor's dialogs ask.
package acp
