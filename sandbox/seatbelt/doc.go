// Package seatbelt runs commands under a macOS profile that isolates files, signals and the network. It contains the
// profile; package host starts the processes.
package seatbelt
