package hostrules

// Held counts the connections of a thread to a host that are held.
func (d *Decisions) Held(thread, host string) int {
	d.waits.mu.Lock()
	defer d.waits.mu.Unlock()
	if h := d.waits.open[thread+" "+host]; h != nil {
		return h.n
	}
	return 0
}
