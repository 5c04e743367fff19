package skilltool

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fawn/agent/skills"
)

// pack creates a .skill file from a folder, if it is installable.
func pack(c call) error {
	dir := filepath.Clean(c.args[0])
	if !strings.HasSuffix(c.args[1], ".skill") {
		return errors.New("the name of the archive must end in .skill")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	text, err := root.ReadFile(skills.File)
	if err != nil {
		return fmt.Errorf("%s has no %s", dir, skills.File)
	}
	s := skills.Parse(text, filepath.Base(dir))
	wrong := false
	for _, f := range s.Findings {
		fmt.Fprintf(c.warn, "%s: %s\n", f.Severity, f)
		wrong = wrong || f.Severity != skills.Hint
	}
	if wrong {
		return errors.New("the skill could not be installed like this")
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p != "." && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !e.Type().IsRegular():
			return nil
		}
		data, err := root.ReadFile(filepath.FromSlash(p))
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		head := &zip.FileHeader{Name: s.Name + "/" + p, Method: zip.Deflate}
		head.SetMode(info.Mode().Perm())
		w, err := z.CreateHeader(head)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err = errors.Join(err, z.Close()); err != nil {
		return err
	}
	if b.Len() > skills.MaxArchive {
		return fmt.Errorf("the archive is larger than %d MiB", skills.MaxArchive>>20)
	}
	return save(c, c.args[1], b.Bytes())
}
