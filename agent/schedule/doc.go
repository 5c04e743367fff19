// Package schedule starts runs at given times.
//
// What is to be started is stored, so a restart forgets nothing: a start is stored before
// its run is, and one that a crash cut off is taken up again. Times that passed while no
// server ran are made up for by one run. Schedules are written in the time of a zone; see
// [Next] for the days on which clocks change.
package schedule
