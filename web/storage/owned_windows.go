package storage

// owned has nothing to look at: files belong to whom the folder says.
func owned(string) error { return nil }
