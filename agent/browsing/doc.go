// Package browsing lets agents use a browser: each thread has one of its own, which keeps its logins.
package browsing
