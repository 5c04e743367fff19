package profile

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
)

// MaxExport is the size of an exported agent in bytes.
const MaxExport = MaxConfig + MaxSoul + 1<<10

// fence surrounds the configuration of an exported agent.
const fence = "---\n"

// Export returns an agent as one file: its config.yaml between fences, as the front matter of its soul.
func (l *Library) Export(owner, name string) ([]byte, error) {
	a, dir, err := l.read(owner, name)
	if err != nil {
		return nil, err
	}
	old, _, err := l.file(path.Join(dir, configName), MaxConfig)
	if err != nil {
		return nil, err
	}
	config, err := encode(old, a)
	if err != nil {
		return nil, err
	}
	return []byte(fence + string(config) + fence + "\n" + a.Soul), nil
}

// Import creates an agent from an exported one, or from any Markdown with such a front matter. Its name is as, unless
// that is empty.
func (l *Library) Import(owner string, data []byte, as string) (Agent, error) {
	a, config, err := unpack(data)
	if err != nil {
		return a, err
	}
	if as != "" {
		a.Name = as
	}
	if a.Name, err = Name(a.Name); err != nil {
		return a, err
	}
	if config, err = encode(config, a); err != nil {
		return a, err
	}
	return a, l.create(owner, a, config)
}

// unpack extracts an exported agent.
func unpack(data []byte) (a Agent, config []byte, err error) {
	if len(data) > MaxExport {
		return a, nil, invalid("file", "the file is larger than %d KiB", MaxExport>>10)
	}
	text := strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\r\n", "\n")
	if err := checkText("file", strings.ToValidUTF8(text[:min(len(text), MaxSoul)], "\uFFFD")); err != nil {
		return a, nil, err
	}
	rest, fenced := strings.CutPrefix(text, fence)
	front, soul, closed := strings.Cut(rest, "\n"+fence)
	if !fenced || !closed {
		return a, nil, invalid("file",
			"this isn't an exported agent: it must begin with ---, the settings, and --- again")
	}
	if a, err = parse([]byte(front)); err != nil {
		var bad *Invalid
		if errors.As(err, &bad) {
			err = &Invalid{"file", strings.ReplaceAll(bad.Why, configName, "the settings in the file")}
		}
		return a, nil, err
	}
	a.Soul = strings.TrimPrefix(soul, "\n")
	if err := checkText("soul", a.Soul); err != nil {
		return a, nil, fmt.Errorf("read an exported agent: %w", err)
	}
	return a, []byte(front), nil
}
