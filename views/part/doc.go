// Package part holds the smallest components: icons, buttons, chips, notices. What knows a thread or a
// page belongs above.
package part
