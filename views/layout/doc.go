// Package layout renders the frame of every page: head, side bar, bar, live region. The content is in the packages of
// the pages.
package layout
