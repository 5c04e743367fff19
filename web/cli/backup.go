package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/backup"
	"fawn/web"
	"fawn/web/storage"
)

// Backup writes everything in the data folder to a file, also while a server uses the folder. ok is false
// when files could not be read, which are named.
func Backup(ctx context.Context, o web.Options, file string, secrets bool) (ok bool, err error) {
	dir, err := config.DataDir(o.Data)
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(dir); err != nil {
		return false, fmt.Errorf("can't read the data folder %s: %w", dir, errors.Unwrap(err))
	}
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil { // a backup must still be possible
		o.Log.Warn("couldn't read the configuration; backing it up only if it's in the data folder",
			"err", err)
		snap = nil
	}
	r, err := backup.Write(ctx, file, web.BackupOptions(o, snap, dir, secrets))
	if err != nil {
		return false, err
	}
	for _, left := range r.Left {
		if _, err := fmt.Fprintf(o.Out, "Not in the backup: %s\n", left); err != nil {
			return false, err
		}
	}
	if snap != nil && storage.InPostgreSQL(snap) {
		_, err := fmt.Fprintln(o.Out, "Not in the backup: the database, which is in PostgreSQL. Copy it with pg_dump.")
		if shared := snap.File.Files.Dir; err == nil && shared != "" {
			_, err = fmt.Fprintf(o.Out, "Not in the backup: the files of threads, which are in %s.\n", shared)
		}
		if err != nil {
			return false, err
		}
	}
	if snap != nil && snap.File.Files.URL != "" {
		_, err := fmt.Fprintf(o.Out, "Not in the backup: files of threads that are only in the object store. After "+
			"the database, copy all objects below %s.\n", snap.File.Files.URL)
		if err != nil {
			return false, err
		}
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s\n", r.Path, told(r.Manifest, r.Size))
	return len(r.Left) == 0, err
}

// told describes a backup in a sentence.
func told(m backup.Manifest, size int64) string {
	secrets := "without secrets"
	if m.Secrets {
		secrets = "with secrets"
	}
	return fmt.Sprintf("%d chats and %d files of %s, packed %s, %s", m.Threads, m.Files, megabytes(m.Bytes),
		megabytes(size), secrets)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

// VerifyBackup verifies a backup and describes its content.
func VerifyBackup(ctx context.Context, o web.Options, file string) error {
	m, err := backup.Verify(ctx, file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s is intact: made %s by version %s, %s\n", file,
		m.Created.Local().Format("2006-01-02 15:04:05"), m.Program, told(m, info.Size()))
	return err
}

// Restore puts a backup into the data folder. Without force the folder must be empty.
func Restore(ctx context.Context, o web.Options, file string, force bool) error {
	dir, err := config.DataDir(o.Data)
	if err != nil {
		return err
	}
	r, err := backup.Restore(ctx, file, dir, force)
	if errors.Is(err, backup.ErrNotEmpty) {
		return fmt.Errorf("the data folder %s isn't empty. Choose another with --data, or move what is in it aside with "+
			"--force", dir)
	}
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d chats and %d files", r.Threads, r.Files)
	if r.Database {
		what = fmt.Sprintf("the database, with %d chats,", r.Threads)
	}
	if _, err := fmt.Fprintf(o.Out, "Restored %s to %s.\n", what, dir); err != nil {
		return err
	}
	if r.Aside != "" {
		_, err = fmt.Fprintf(o.Out, "What was there is in %s. Delete it when you don't need it any more.\n", r.Aside)
	}
	if err == nil && !r.Database && !r.Secrets {
		_, err = fmt.Fprintf(o.Out, "Secrets were not in the backup: put them into %s. fawn doctor tells which are "+
			"missing.\n", filepath.Join(dir, "secrets.env"))
	}
	return err
}
