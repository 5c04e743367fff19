package schedule

// Settle waits until no run is waited for any more.
func (s *Scheduler) Settle() { s.wg.Wait() }
