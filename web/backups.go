package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fawn/agent/config"
	"fawn/agent/schedule"
	"fawn/backup"
	"fawn/views"
)

// backups is the schedule of automatic backups.
type backups struct {
	mu     sync.Mutex
	failed error // error of the last backup, nil if it worked
}

const (
	backupPrefix = "fawn-"
	backupSuffix = ".tar.gz"
	backupLayout = "20060102T150405Z"
	backupLook   = time.Minute // interval of checking for a changed configuration
	backupRetry  = 10 * time.Minute
)

// BackupOptions returns the contents of a backup. snap may be nil.
func BackupOptions(o Options, snap *config.Snapshot, dir string, secrets bool) backup.Options {
	b := backup.Options{Dir: dir, Secrets: secrets, Program: o.Version, Clean: config.WithoutSecrets,
		Extra: map[string]string{}}
	if snap == nil {
		return b
	}
	b.Skip = backupDir(snap)
	for name, path := range map[string]string{"config.yaml": snap.ConfigPath,
		"extensions_config.json": snap.ExtensionsPath} {
		abs, err := filepath.Abs(path)
		if _, statErr := os.Stat(abs); path != "" && err == nil && statErr == nil && filepath.Dir(abs) != dir {
			b.Extra[name] = abs
		}
	}
	return b
}

// backupDir returns the folder of backups.
func backupDir(snap *config.Snapshot) string {
	dir := snap.File.Backup.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(snap.DataDir, dir)
	}
	return filepath.Clean(dir)
}

// kept returns the backups in a folder that the server has made, the oldest first.
func kept(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if _, ok := madeAt(e.Name()); ok && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// madeAt parses the time of a backup from its name.
func madeAt(name string) (time.Time, bool) {
	stamp, ok := strings.CutPrefix(name, backupPrefix)
	stamp, suffixed := strings.CutSuffix(stamp, backupSuffix)
	at, err := time.Parse(backupLayout, stamp)
	return at, ok && suffixed && err == nil
}

// nextBackup returns when the next backup is due after last, and false if none is planned.
func nextBackup(b config.Backup, last, now time.Time) (time.Time, bool) {
	var due time.Time
	if b.Every > 0 {
		due = now // make the first one at once
		if !last.IsZero() {
			due = last.Add(b.Every)
		}
	}
	if b.Cron != "" {
		after := last
		if after.IsZero() {
			after = now
		}
		at, ok := schedule.Next(b.Cron, time.Local, after)
		if ok && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	return due, !due.IsZero()
}

// backUp makes the scheduled backups until ctx ends.
func (a *App) backUp(ctx context.Context) {
	started, again, told := time.Now(), time.Time{}, ""
	for {
		snap := a.config.Current()
		plan := snap.File.Backup
		if _, err := schedule.Check(plan.Cron); plan.Cron != "" && err != nil {
			if told != plan.Cron {
				a.opts.Log.Error("backup.cron has no effect", "err", err)
			}
			told, plan.Cron = plan.Cron, ""
		}
		last := a.lastBackup(snap)
		if last.IsZero() && plan.Every == 0 {
			last = started
		}
		if due, ok := nextBackup(plan, last, time.Now()); ok && !due.After(time.Now()) && !again.After(time.Now()) {
			err := a.backUpNow(ctx, snap)
			if ctx.Err() != nil {
				return
			}
			a.data.backups.mu.Lock()
			a.data.backups.failed = err
			a.data.backups.mu.Unlock()
			if err != nil {
				a.opts.Log.Error("couldn't make a backup", "dir", backupDir(snap), "err", err)
				again = time.Now().Add(backupRetry)
			}
		}
		wait := time.NewTimer(a.backupWait(plan))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
	}
}

// backupWait returns the time until the next check, at most a minute.
func (a *App) backupWait(plan config.Backup) time.Duration {
	if plan.Every > 0 && plan.Every < backupLook {
		return plan.Every
	}
	return backupLook
}

// lastBackup returns the time of the newest backup, zero if there is none.
func (a *App) lastBackup(snap *config.Snapshot) (at time.Time) {
	if names, _ := kept(backupDir(snap)); len(names) > 0 {
		at, _ = madeAt(names[len(names)-1])
	}
	return at
}

// backUpNow makes one backup and deletes those above the number to keep.
func (a *App) backUpNow(ctx context.Context, snap *config.Snapshot) error {
	dir := backupDir(snap)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	began := time.Now()
	path := filepath.Join(dir, backupPrefix+began.UTC().Format(backupLayout)+backupSuffix)
	r, err := backup.Write(ctx, path, BackupOptions(a.opts, snap, a.data.dirs.Root, snap.File.Backup.Secrets))
	if err != nil {
		return err
	}
	names, err := kept(dir)
	for len(names) > snap.File.Backup.Keep && err == nil {
		err = os.Remove(filepath.Join(dir, names[0]))
		names = names[1:]
	}
	a.opts.Log.Info("backup written", "file", path, "bytes", r.Size, "chats", r.Threads, "left_out", len(r.Left),
		"took", time.Since(began).Round(time.Millisecond))
	if err != nil {
		return fmt.Errorf("delete old backups: %w", err)
	}
	return nil
}

// backupState returns the backups' state for the pages.
func (a *App) backupState() views.Backups {
	snap := a.config.Current()
	plan := snap.File.Backup
	s := views.Backups{Dir: backupDir(snap)}
	if _, err := schedule.Check(plan.Cron); err != nil {
		plan.Cron = ""
	}
	if names, err := kept(s.Dir); err == nil && len(names) > 0 {
		s.Count = len(names)
		s.Last, _ = madeAt(names[len(names)-1])
		if info, err := os.Stat(filepath.Join(s.Dir, names[len(names)-1])); err == nil {
			s.Size = info.Size()
		}
	}
	s.Next, s.Planned = nextBackup(plan, s.Last, time.Now())
	a.data.backups.mu.Lock()
	defer a.data.backups.mu.Unlock()
	if a.data.backups.failed != nil {
		s.Problem = a.data.backups.failed.Error()
	}
	return s
}
