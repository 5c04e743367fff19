// Package browsing holds the tools with which agents use a browser: open, read, click, type. Each thread has a browser
// of its own, which keeps its logins. The browsers themselves are package sandbox/browser.
package browsing
