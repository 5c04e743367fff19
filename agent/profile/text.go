package profile

import (
	"fmt"
	"path"
)

// Soul returns the SOUL.md of the lead agent, "" if there is none.
func (l *Library) Soul() (string, error) {
	b, _, err := l.file(soulName, MaxSoul)
	return string(b), err
}

// SetSoul writes the SOUL.md of the lead agent. All owners share it, so only the installation's owner may.
func (l *Library) SetSoul(owner, text string) error {
	if owner != l.first {
		return invalid("soul", "only whoever runs this installation can change the lead agent")
	}
	return l.setText(soulName, "soul", text)
}

// User returns the USER.md of an owner, their description of themselves.
func (l *Library) User(owner string) (string, error) {
	b, _, err := l.file(l.userFile(owner), MaxSoul)
	return string(b), err
}

// SetUser writes the USER.md of an owner.
func (l *Library) SetUser(owner, text string) error {
	return l.setText(l.userFile(owner), "content", text)
}

// userFile returns the path of USER.md; the installation's owner has it at the top of the data folder.
func (l *Library) userFile(owner string) string {
	if owner == l.first {
		return userName
	}
	return path.Join(home(owner), userName)
}

func (l *Library) setText(at, field, text string) error {
	if err := checkText(field, text); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.root.MkdirAll(path.Dir(at), 0o700); err != nil {
		return fmt.Errorf("make a folder for %s: %w", path.Base(at), err)
	}
	if err := l.write(at, []byte(text)); err != nil {
		return fmt.Errorf("write %s: %w", path.Base(at), err)
	}
	return l.changed(at)
}
