package convert

// confine does nothing here: the server ends slow jobs.
func confine() {}
