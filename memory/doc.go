// Package memory keeps what Fawn knows about people across threads: summaries and single facts,
// each with where it was said.
//
// # Rows and document
//
// The truth is rows in the database. The API shows them as DeerFlow's document, and takes such a
// document to replace them. Every change goes through [Service.change]: it is made on a copy,
// and only what differs is written, as one commit which names the revision it started from.
//
// # Learning
//
// What people and the agent said in a run becomes a [Lesson], stored with the run's end. When
// its thread has been quiet for a while, one model call says what is worth knowing, and the
// [gate] decides: only lasting, described facts about the person, said clearly enough. The
// change and the end of the lesson are one commit, so a crash neither loses nor repeats it.
// Without a model only explicit wishes count: "remember that …".
//
// # Recalling
//
// The facts of an owner are few enough to be held, with an index of their words: a request ranks
// them by BM25, confidence and age within a few hundred microseconds.
package memory
