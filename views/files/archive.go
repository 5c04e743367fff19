package files

import (
	"context"
	"time"

	"fawn/views"
	"fawn/views/i18n"
)

// archiveSize returns the number of files and their unpacked size.
func archiveSize(ctx context.Context, a *views.Archive) string {
	return i18n.N(ctx, "files.archive.files", a.Files) + " · " +
		i18n.C(ctx, "files.archive.unpacked", views.Bytes(a.Bytes))
}

// bomb reports whether an archive declares a much larger size than its own.
func bomb(f *views.FileView) bool {
	const much, times = 1 << 30, 100
	return f.Archive.Bytes > much && f.Bytes > 0 && f.Archive.Bytes/f.Bytes > times
}

// day returns the modification date of an archive's file.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02 15:04")
}
