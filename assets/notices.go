package assets

import "strings"

// Notice names something of others that is built into the binary.
type Notice struct {
	Name    string // name of the module or the work
	Version string // may be empty
	License string // SPDX identifiers, separated by commas
}

// Notices lists everything of others that is in the binary. NoticesText has the texts.
func Notices() []Notice {
	b, err := read(NoticesText)
	if err != nil {
		return nil
	}
	var list []Notice
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "---") { // the texts begin
			break
		}
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 3 {
			list = append(list, Notice{f[0], f[1], f[2]})
		}
	}
	return list
}
