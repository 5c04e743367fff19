//go:build !linux

package main

func handicap() {}
