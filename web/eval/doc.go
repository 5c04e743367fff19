// Package eval measures how good research is: it has an agent answer questions from a fixed set of pages in place of
// the web, and compares each answer with the pages it cites and with the key points that its question asks for.
//
// A [Suite] is a folder of questions with the pages they can be answered from, which [Web] serves and searches.
// [WriteSample] makes such a folder. [Evaluate] asks the questions at a server and keeps what came of each, so that an
// evaluation that was stopped goes on where it was; [Measure] judges one answer, by words and numbers alone.
package eval
