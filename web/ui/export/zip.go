package export

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/files"
	"fawn/store"
	"fawn/views"
	"fawn/web/httpx"
	"fawn/web/ui/page"
)

const (
	// maxZip limits the total size of an archive's files.
	maxZip = 4 << 30
	// maxZips limits concurrent archives.
	maxZips = 4
)

// zipFolders are the folders of a thread's files, by their names in an archive.
var zipFolders = []string{"outputs", "uploads", "workspace"}

// Why files do not go into one archive.
var (
	errZipLarge = errors.New("the files are too large for one archive")
	errZipMany  = errors.New("there are too many files for one archive")
)

// filesZip handles GET /ui/threads/:id/files.zip: the agent's results, or with from=all all files of the thread. The
// archive is streamed.
func (h *Handlers) filesZip(c echo.Context, t store.Thread) error {
	ctx := c.Request().Context()
	select {
	case h.zips <- struct{}{}:
		defer func() { <-h.zips }()
	default:
		d := httpx.Errorf(http.StatusServiceUnavailable, "%s", page.Say(c, "files.zip.busy"))
		d.Header = http.Header{"Retry-After": {"10"}}
		return d
	}
	dir, err := h.Dirs.Open(t.ID)
	if page.IsMissing(err) {
		return store.ErrNotFound
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	list, err := zipList(ctx, dir, c.QueryParam("from") == views.ZipAll)
	switch {
	case errors.Is(err, errZipLarge):
		return httpx.Errorf(http.StatusRequestEntityTooLarge, "%s", page.Say(c, "files.zip.large", views.Bytes(maxZip)))
	case errors.Is(err, errZipMany):
		return httpx.Errorf(http.StatusRequestEntityTooLarge, "%s", page.Say(c, "files.zip.many"))
	case err != nil:
		return err
	}
	header := c.Response().Header()
	header.Set("Content-Type", "application/zip")
	header.Set("Content-Disposition", page.Attached(ExportTitle(t, nil, page.ReadPrefs(c.Request()).Lang)+".zip"))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "private, no-store")
	c.Response().WriteHeader(http.StatusOK)
	if err := writeZip(ctx, c.Response(), dir, list); err != nil && ctx.Err() == nil {
		h.Log.Warn("archive download interrupted", "thread", t.ID, "err", err)
		panic(http.ErrAbortHandler) // makes the browser notice that it is incomplete
	}
	return nil
}

// zipEntry is a file with its name in the archive.
type zipEntry struct {
	files.Entry
	name string
}

// zipList lists an archive's files: regular files, without following links. ErrNotFound if there are none; too many or
// too large ones are refused before the first byte is sent.
func zipList(ctx context.Context, dir *files.Files, all bool) ([]zipEntry, error) {
	folders := zipFolders
	if !all {
		folders = folders[:1]
	}
	var list []zipEntry
	var total int64
	taken := map[string]bool{}
	for _, folder := range folders {
		base := files.UserData + "/" + folder
		err := dir.Walk(ctx, base, files.WalkOptions{All: true}, func(e files.Entry) error {
			if e.Dir || e.Link {
				return nil
			}
			if total += e.Size; total > maxZip || total < 0 {
				return errZipLarge
			}
			name := ZipName(strings.TrimPrefix(e.Path, base+"/"))
			if all {
				name = folder + "/" + name
			}
			list = append(list, zipEntry{e, unique(name, taken)})
			return nil
		})
		if errors.Is(err, files.ErrLimit) {
			return nil, errZipMany
		}
		if err != nil && !page.IsMissing(err) {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, store.ErrNotFound
	}
	return list, nil
}

// ZipName returns a name that stays below the archive's folder on every system, whatever the agent's file name means
// there.
func ZipName(p string) string {
	parts := strings.Split(strings.ToValidUTF8(p, "_"), "/")
	for i, s := range parts {
		s = strings.Map(func(r rune) rune {
			if strings.ContainsRune(`\:*?"<>|`, r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				return '_'
			}
			return r
		}, s)
		if trimmed := strings.TrimRight(s, ". "); trimmed != s {
			s = trimmed + "_"
		}
		parts[i] = s
	}
	return strings.Join(parts, "/")
}

// unique numbers a name that is taken.
func unique(name string, taken map[string]bool) string {
	ext := path.Ext(name)
	for n, was := 2, name; taken[strings.ToLower(name)]; n++ {
		name = strings.TrimSuffix(was, ext) + " (" + strconv.Itoa(n) + ")" + ext
	}
	taken[strings.ToLower(name)] = true
	return name
}

func writeZip(ctx context.Context, to io.Writer, dir *files.Files, list []zipEntry) error {
	z := zip.NewWriter(to)
	z.RegisterCompressor(zip.Deflate,
		func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	for _, e := range list {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := zipFile(z, dir, e); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return z.Close()
}

// zipFile adds one file up to its listed size. A missing, unreadable or replaced one is skipped.
func zipFile(z *zip.Writer, dir *files.Files, e zipEntry) error {
	named, err := dir.Lstat(e.Path)
	if err != nil || !named.Mode().IsRegular() {
		return nil
	}
	file, info, err := dir.Open(e.Path)
	if errors.Is(err, fs.ErrPermission) || page.IsMissing(err) || err == nil && !os.SameFile(named, info) {
		if err == nil {
			file.Close()
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	h := &zip.FileHeader{Name: e.name, Modified: e.Modified.UTC(), Method: zip.Deflate}
	if packed(e.name) {
		h.Method = zip.Store
	}
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.LimitReader(file, e.Size))
	return err
}

// packed reports whether a file is already compressed.
func packed(name string) bool {
	switch views.KindOf(name, "") {
	case views.KindImage, views.KindAudio, views.KindVideo, views.KindPDF:
		return true
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".zip", ".gz", ".xz", ".zst", ".bz2", ".7z", ".docx", ".xlsx", ".pptx", ".skill":
		return true
	}
	return false
}

// ZipOffers returns the available archives: of the results, and of all files if there are more.
func (h *Handlers) ZipOffers(ctx context.Context, thread string) (made, more bool, err error) {
	dir, err := h.Dirs.Open(thread)
	if page.IsMissing(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	defer dir.Close()
	for i, folder := range zipFolders {
		some := false
		err := dir.Walk(ctx, files.UserData+"/"+folder, files.WalkOptions{All: true}, func(e files.Entry) error {
			if e.Dir || e.Link {
				return nil
			}
			some = true
			return fs.SkipAll
		})
		if err != nil && !page.IsMissing(err) && !errors.Is(err, files.ErrLimit) {
			return false, false, err
		}
		made, more = made || some && i == 0, more || some && i > 0
	}
	return made, more, nil
}
