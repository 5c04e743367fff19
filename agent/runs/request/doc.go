// Package request reads what a run is asked for: the body of LangGraph's run-create call, with its
// input, its command, its options and its secrets. It refuses what is wrong with that by itself;
// what depends on the thread, or on who asks, is for package runs to judge.
package request
