// Package schedule starts runs at given times and holds the rules of scheduled tasks.
//
// A [Scheduler] starts due tasks. Each start is stored before its run, and one that a crash interrupted is continued.
// Times missed while no server ran are made up for by one run. [Tasks] creates, changes, pauses, starts and deletes
// tasks for the gateway, LangGraph's crons and the page. Schedules use the clocks of a time zone; see [Next] for the
// days on which clocks change.
//
// Requests, forms and the wording of errors belong to those callers. Begin with tasks.go, then scheduler.go and
// start.go.
package schedule
