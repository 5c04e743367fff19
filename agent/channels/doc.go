// Package channels lets people use Fawn from chat apps. A [Hub] runs one bot for each platform that is configured: what
// a platform delivers is stored before it is confirmed, lines of chats turn it into runs, and each run's answer is
// written to its chat by a reader of the run's log that can be cut off at any point and taken up again.
//
// Nothing is kept in memory only. A message is a row that goes from new to done, its run has an id made from the
// message's, and each message of the answer is a row that says what the chat shows.
package channels
