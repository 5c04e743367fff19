// Package memory stores facts about people across threads: summaries and single facts, each with its source.
//
// # Rows and document
//
// Memory is stored in database rows. The API shows them as DeerFlow's document, and takes such a
// document to replace them. Every change goes through [Service.change]: it is made on a copy,
// and only the differences are written, in one commit based on a known revision.
//
// # Learning
//
// The conversation of a run becomes a [Lesson], stored with the run's end. When its thread has been quiet for a while, one model call extracts facts, and the [gate] decides: only lasting, described facts about the person, said clearly enough. The
// change and the end of the lesson are one commit, so a crash neither loses nor repeats it.
// Without a model only explicit wishes count: "remember that …".
//
// # Recalling
//
// The facts of an owner are few enough to be held, with an index of their words: a request ranks
// them by BM25, confidence and age within a few hundred microseconds.
package memory
