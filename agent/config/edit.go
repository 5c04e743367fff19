package config

import (
	"fmt"
	"maps"
)

// edit changes the two files and puts the result in force. may checks the resulting configuration, and can refuse it.
func (s *Store) edit(change func(*draft) error, may func(next *Snapshot) error) error {
	if s.fixed {
		return ErrFixed
	}
	s.editing.Lock()
	defer s.editing.Unlock()
	write := s.editFiles
	if s.rows != nil {
		write = s.editShared
	}
	if err := write(change, may); err != nil {
		return err
	}
	s.Poll()
	if problem := s.Problem(); problem != "" {
		return fmt.Errorf("the settings were saved but are not in effect: %s", problem)
	}
	return nil
}

func (s *Store) editFiles(change func(*draft) error, may func(next *Snapshot) error) error {
	d, err := s.tried(change, may)
	if err != nil {
		return err
	}
	cur := s.Current()
	settings, err := d.yaml()
	if err != nil {
		return err
	}
	// A key is written before the entry that names it, and removed after it: a crash in between does no harm.
	both := maps.Clone(d.before)
	maps.Copy(both, d.secrets)
	if !maps.Equal(both, d.before) {
		if err := replace(cur.SecretsPath(), envFileOf(both)); err != nil {
			return err
		}
	}
	if err := replace(cur.SettingsPath(), settings); err != nil {
		return err
	}
	if !maps.Equal(both, d.secrets) {
		if err := replace(cur.SecretsPath(), envFileOf(d.secrets)); err != nil {
			return err
		}
	}
	return nil
}
