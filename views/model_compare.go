package views

// CompareURL returns the address of the page of a comparison.
func CompareURL(id string) string { return "/workspace/compare/" + id }

// ComparePage shows several models' answers to one question side by side.
type ComparePage struct {
	Shell  Shell
	ID     string
	Title  string
	Sides  []CompareSide
	Chosen string // thread that was preferred, "" for none yet
}

// CompareSide is one of the answers.
type CompareSide struct {
	ThreadID string
	Model    string
	Gone     bool // the chat was deleted
}
