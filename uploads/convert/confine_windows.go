package convert

// confine does nothing here: the server ends what takes too long.
func confine() {}
