//go:build !unix

package files

const (
	readFlags = 0
	dirFlags  = 0
)
