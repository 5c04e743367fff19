// Package deerflow reads the database that DeerFlow 2.x and LangGraph's SQLite checkpointer
// write: threads, their newest state, and their runs. It changes nothing there. What belongs
// here is the form of those tables and values; what becomes of them does not.
package deerflow
