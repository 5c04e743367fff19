//go:build !unix

package filestore

const readFlags = 0
