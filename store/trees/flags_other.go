//go:build !unix

package trees

const readFlags = 0
