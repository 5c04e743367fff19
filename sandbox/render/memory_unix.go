//go:build unix && !linux

package render

// taken returns 0: the memory is unknown here.
func taken(int) int64 { return 0 }
