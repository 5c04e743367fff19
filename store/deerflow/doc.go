// Package deerflow reads the databases of DeerFlow 2.x and LangGraph's SQLite checkpointer: threads, their newest
// state, and their runs. It never writes to them. It only knows the form of those tables and values; callers import
// them.
package deerflow
