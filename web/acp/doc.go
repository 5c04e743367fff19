// Package acp lets editors use an agent: it speaks the Agent Client Protocol with an editor, and the API with a server,
// where sessions are threads. The files and terminals of the editor's folder are tools carried out on this side, so
// unsaved text counts and the editor's dialogs ask for permission.
package acp
