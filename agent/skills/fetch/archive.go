package fetch

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"fawn/agent/skills"
	"fawn/sandbox/netguard"
)

// Limits of a download.
const (
	maxFiles = 4096 // limit per skill; the Library has the same
	maxTime  = 2 * time.Minute
)

// Client returns the client for people's addresses: it only reaches the public internet.
func Client() *http.Client {
	return netguard.Client(&netguard.Guard{}, netguard.ClientLimits{Body: skills.MaxArchive, Time: maxTime})
}

// Write writes the archive of a skill on the web to out, using temporary files below temp. Problems with the source are
// a [*skills.Refused].
func (s Source) Write(ctx context.Context, client *http.Client, temp string, out io.Writer) error {
	if s.Archive == "" {
		return s.clone(ctx, client, temp, out)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Archive, nil)
	if err != nil {
		return unreachable(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refuse("the address answers with %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	source := &failing{r: resp.Body}
	if _, err := io.Copy(out, source); source.err != nil {
		return unreachable(source.err)
	} else if err != nil {
		return fmt.Errorf("keep an archive: %w", err)
	}
	return nil
}

// unreachable describes a network error.
func unreachable(err error) error {
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err // without the address, which the caller knows
	}
	switch {
	case errors.As(err, new(*netguard.Refused)):
		return refuse("the address does not lead to the public internet")
	case errors.Is(err, netguard.ErrTooLarge):
		return refuse("what the address holds is larger than %d MiB", skills.MaxArchive>>20)
	case errors.Is(err, netguard.ErrURL), errors.Is(err, netguard.ErrHost):
		return refuse("%s", shorten(err.Error()))
	case errors.Is(err, netguard.ErrUnresolved):
		return refuse("the host of the address was not found")
	case errors.Is(err, context.Canceled):
		return err
	}
	return refuse("the address cannot be read: %s", shorten(err.Error()))
}

// Folder writes the archive of a folder with a skill in it. Links and special files are left out.
func Folder(fsys fs.FS, out io.Writer) error {
	z := zip.NewWriter(out)
	files, bytes := 0, int64(0)
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if files++; files > maxFiles {
			return refuse("the folder holds more than %d files", maxFiles)
		}
		if bytes += info.Size(); bytes > skills.MaxArchive {
			return refuse("the files of the folder hold more than %d MiB", skills.MaxArchive>>20)
		}
		in, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer in.Close()
		return addFile(z, name, info.Mode(), in)
	})
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	return z.Close()
}

// addFile puts one file into an archive.
func addFile(z *zip.Writer, name string, mode fs.FileMode, in io.Reader) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.SetMode(mode)
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}

// failing records read errors, to distinguish them from write errors.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
