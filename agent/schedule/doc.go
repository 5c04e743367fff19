// Package schedule starts runs at given times, and has the rules about such tasks.
//
// A [Scheduler] starts what is due. Each start is stored before its run, and one that a crash interrupted is continued.
// Times that passed while no server ran are made up for by one run. [Tasks] creates, changes, pauses, starts and
// deletes tasks for every face of the program: the gateway, LangGraph's crons and the page. Schedules use the clocks of
// a time zone; see [Next] for the days on which clocks change.
//
// Requests, forms and the wording of errors belong to those faces. Begin with tasks.go, then scheduler.go and start.go.
package schedule
