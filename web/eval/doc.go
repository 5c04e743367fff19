// Package eval measures the quality of research: an agent answers questions from a fixed set of pages instead of the
// web, and each answer is compared with the pages it cites and with its question's key points.
//
// A [Suite] is a folder of questions with their source pages, which [Web] serves and searches. [WriteSample] creates
// one. [Evaluate] asks the questions on a server and stores each answer, so a stopped evaluation can resume; [Measure]
// judges one answer, by words and numbers alone.
package eval
