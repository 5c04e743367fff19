//go:build !linux || !(amd64 || arm64)

package initbin

var packed []byte
