package commit

import (
	"testing"
	"time"
)

// TestServersThatCommitSlowlyAreStrained, and others that had an accident are not.
func TestServersThatCommitSlowlyAreStrained(t *testing.T) {
	begin := time.Unix(1_000_000, 0)
	after := func(d time.Duration) time.Time { return begin.Add(d) }
	var s strain
	for i := range 500 {
		s.add(after(time.Duration(i)*10*time.Millisecond), 5*time.Millisecond)
	}
	for range 3 { // less than one in a hundred
		s.add(after(5*time.Second), 600*time.Millisecond)
	}
	if s.heavy(after(5 * time.Second)) {
		t.Error("strained by three of five hundred")
	}
	for i := range 3 {
		if _, changed := s.add(after(6*time.Second), 600*time.Millisecond); changed != (i == 2) {
			t.Errorf("slow commit %d: %v", i+4, changed)
		}
	}
	if !s.heavy(after(14 * time.Second)) {
		t.Error("not strained")
	}
	if s.heavy(after(17 * time.Second)) {
		t.Error("strained by what is past")
	}
	if heavy, changed := s.add(after(17*time.Second), time.Millisecond); heavy || !changed {
		t.Error("its end was not told")
	}
	s = strain{}
	if s.add(begin, 700*time.Millisecond); s.heavy(begin) {
		t.Error("strained by the only one")
	}
	if s.add(begin, strainTime/2); !s.heavy(begin) {
		t.Error("not strained by one that takes half of the time")
	}
}
