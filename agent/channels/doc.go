// Package channels connects chat apps with runs. A [Hub] runs one bot per configured platform: incoming messages are
// stored before they are confirmed, a line per chat turns them into runs, and each answer is written to its chat by a
// reader of the run's log that can stop at any point and continue later.
//
// Nothing is kept in memory only. A message is a row that goes from new to done, its run has an id made from the
// message's, and each message of the answer is a row with the text that the chat shows.
//
// The platforms' protocols belong to package chat; setting up bots to web/bots. Begin with inbox.go (a message
// arrives), lines.go and admit.go (it is admitted), turn.go (it becomes a run) and write.go (the answer is sent).
package channels
