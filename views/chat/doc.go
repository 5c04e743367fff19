// Package chat holds the conversation: welcome page, thread page, turns, the trail of steps, the
// composer and the list of all chats. Files in the panel are in package files.
package chat
