// Package layout is the frame of every page: head, side bar, bar, live region. What fills a page is in
// the packages of the pages.
package layout
