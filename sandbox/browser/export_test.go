package browser

import "os"

// Folders returns how many downloads of a thread are in its folder, and the folder of its uploads.
func (b *Browsers) Folders(thread string) (downloads int, uploads string) {
	b.mu.Lock()
	s := b.sessions[thread]
	b.mu.Unlock()
	if s == nil {
		return 0, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := os.ReadDir(s.downs)
	if err != nil {
		return -1, s.ups
	}
	return len(list), s.ups
}
