//go:build !linux

package web

func dropProgram() {}
