package views

import "time"

// TasksPage is GET /workspace/scheduled-tasks.
type TasksPage struct {
	Shell  Shell
	Tasks  []Task
	Form   TaskForm
	Off    bool // the scheduler is off: nothing starts automatically
	Notice *Notice
	Chat   string // thread of the run just started by hand
}

// Task is one scheduled task.
type Task struct {
	ID       string
	Title    string
	Prompt   string
	Schedule string    // five fields; empty for a single time
	Zone     string    // time zone of the times
	Agent    string    // the answering agent; empty is Fawn
	ThreadID string    // the chat of all its runs; empty is a new one each time
	Next     time.Time // time of the next run; zero is never
	Paused   bool
	Runs     []TaskRun // the latest starts, newest first
	Chat     *TaskChat // chat of a chat app for the results; nil is none
}

// TaskChat is a chat of a chat app that results can be sent to.
type TaskChat struct {
	Value string // the form's value
	App   string // its name
	Name  string // name of the person or group; empty if unknown
	Group bool
	Gone  bool // it's no longer connected
}

// TaskRun is one start of a task.
type TaskRun struct {
	Status   string // success, failed, running, starting, interrupted, skipped
	ThreadID string // the chat it ran in, when there is one
	At       time.Time
	Manual   bool
	Error    string
	Began    time.Time // start time if it was late; otherwise zero
	Missed   int       // missed times that it made up for
	Sent     string    // delivery of its result: waiting, sent, failed or unknown; empty if none is sent
	Unsent   *Trouble  // why it wasn't sent
}

// TaskForm is the content of the form for a task.
type TaskForm struct {
	ID      string // id of the task being edited; empty is a new one
	Title   string
	Prompt  string
	Every   string // one of TaskTimes
	At      string // time of the day, 15:04
	Day     string // day of a single run, 2006-01-02
	Weekday string // weekday of a weekly run, one of Weekdays
	Cron    string // five fields
	Zone    string
	Agents  []string // available agents
	Agent   string   // name of the selected agent; empty is Fawn
	Same    bool     // all runs share one chat
	Chats   []TaskChat
	Chat    string // Value of the selected chat; empty is none
	Problem string
	Wrong   string // the field with the problem; empty for none
}

// Weekdays returns the days of the week as cron numbers them, Monday first.
func Weekdays() []string { return []string{"1", "2", "3", "4", "5", "6", "0"} }

// TaskTimes returns the kinds of schedules.
func TaskTimes() []string { return []string{"day", "weekday", "week", "hour", "once", "cron"} }
