package files

import (
	"os"
	"path/filepath"
)

// versionsFolder holds earlier versions of a thread's files. It is next to them, out of reach of commands, and deleted
// with them.
const versionsFolder = "versions"

// Versions opens the folder of earlier versions of a thread's files, which counts towards its quota. The caller closes
// it. If it doesn't exist, the error matches fs.ErrNotExist.
func (d Dirs) Versions(thread string) (*os.Root, error) {
	base, err := d.Folder(thread)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Join(base, versionsFolder))
	if err != nil {
		return nil, OpError("open versions of thread", thread, err)
	}
	return root, nil
}

// CreateVersions creates the folder that [Dirs.Versions] opens. The thread need not have files yet.
func (d Dirs) CreateVersions(thread string) error {
	base, err := d.Folder(thread)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(base, versionsFolder), 0o700); err != nil {
		return OpError("make folder of versions", thread, err)
	}
	return nil
}
