// Package browsing contains the tools by which agents use a browser: open, read, click, type. Each thread has its own
// browser, which keeps its logins. Package sandbox/browser runs the browsers.
package browsing
