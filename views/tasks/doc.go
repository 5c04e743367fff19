// Package tasks holds the page of the scheduled tasks. When they start is decided in agent/schedule.
package tasks
