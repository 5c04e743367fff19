package skills

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// maxState bounds extensions_config.json.
const maxState = 4 << 20

// member is one key of a JSON object, in the order of the file.
type member struct {
	key   string
	value json.RawMessage
}

// object reads a JSON object without losing anything of it. Nothing at all is an empty one.
func object(data []byte) ([]member, error) {
	if len(bytes.TrimSpace(data)) == 0 || string(bytes.TrimSpace(data)) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	var out []member
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: t.(string)} // a decoder gives nothing else there
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return out, nil
}

// put replaces a member, or adds one.
func put(o []member, key string, value json.RawMessage) []member {
	if i := slices.IndexFunc(o, func(m member) bool { return m.key == key }); i >= 0 {
		o[i].value = value
		return o
	}
	return append(o, member{key, value})
}

func take(o []member, key string) json.RawMessage {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func encode(o []member) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// readState is what the file says of skills by name: whether each is on.
func readState(file string) (map[string]bool, error) {
	data, err := readSmall(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which skills are on: %w", err)
	}
	top, err := object(data)
	if err != nil {
		return nil, fmt.Errorf("read which skills are on: %s is not valid: %w", filepath.Base(file), err)
	}
	list, err := object(take(top, "skills"))
	if err != nil {
		return nil, fmt.Errorf("read which skills are on: skills in %s is not valid: %w", filepath.Base(file), err)
	}
	state := map[string]bool{}
	for _, m := range list {
		var one struct {
			Enabled *bool `json:"enabled"`
		}
		if json.Unmarshal(m.value, &one) != nil {
			state[m.key] = false // whoever wrote this meant something; nothing is opened by mistake
			continue
		}
		state[m.key] = one.Enabled == nil || *one.Enabled
	}
	return state, nil
}

func readSmall(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err == nil && len(data) > maxState {
		err = fmt.Errorf("%s is larger than %d MiB", filepath.Base(file), maxState>>20)
	}
	return data, err
}

// writeState switches skills. Whatever else is in the file stays as it is; a link stays a link.
func writeState(file string, on map[string]bool) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	data, err := readSmall(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("switch a skill: %w", err)
	}
	top, err := object(data)
	if err != nil {
		return fmt.Errorf("switch a skill: %s is not valid: %w", filepath.Base(file), err)
	}
	list, err := object(take(top, "skills"))
	if err != nil {
		return fmt.Errorf("switch a skill: skills in %s is not valid: %w", filepath.Base(file), err)
	}
	for _, name := range slices.Sorted(maps.Keys(on)) {
		old, err := object(take(list, name))
		if err != nil {
			old = nil
		}
		value, err := encode(put(old, "enabled", json.RawMessage(fmt.Sprint(on[name]))))
		if err != nil {
			return err
		}
		list = put(list, name, value)
	}
	value, err := encode(list)
	if err != nil {
		return err
	}
	if value, err = encode(put(top, "skills", value)); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, value, "", "  "); err != nil {
		return fmt.Errorf("switch a skill: %w", err)
	}
	out.WriteByte('\n')
	return replace(file, out.Bytes())
}

// replace writes a file beside the old one and puts it in its place.
func replace(file string, data []byte) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(file), err)
	}
	_, err = f.Write(data)
	err = cmp.Or(err, f.Chmod(mode))
	err = cmp.Or(err, f.Sync())
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(file), errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
