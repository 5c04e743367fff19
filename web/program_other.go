//go:build !linux

package web

func dropProgram() {}

func fileBytes() uint64 { return 0 }
