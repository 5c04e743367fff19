package storage

// owned checks nothing: the folder determines the files' owner.
func owned(string) error { return nil }
