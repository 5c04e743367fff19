package page

import (
	"net/url"
	"strings"
)

// Attached returns the header of a file to save. Its name has no separator of folders.
func Attached(name string) string {
	name = strings.NewReplacer("/", "-", "\\", "-", ":", "-").Replace(name)
	return "attachment; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}
