// Package seatbelt runs commands with a profile of macOS that keeps files, signals and the network
// apart. What such a profile says belongs here; how processes start is in package host.
package seatbelt
