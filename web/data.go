package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"fawn/agent/clusterstate"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/projects"
	"fawn/backup"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/store/filestore"
	"fawn/web/storage"
)

// data groups the parts that keep rows and files: the data folder, the database, and the files of threads.
type data struct {
	dirs    files.Dirs
	db      *store.DB
	trees   *filestore.Trees   // nil has the files of threads in folders only
	shared  *clusterstate.Rows // what several servers share; nil for one that is alone
	lost    leaseLoss          // of the right to write to the database
	unused  time.Time          // before the address was opened, by the clock of the data folder's file system
	backups backups
}

// enter makes the data folder ready and reads the clock of its file system.
func (d *data) enter(dir string, log *slog.Logger) (err error) {
	if err := Ready(dir, log); err != nil {
		return err
	}
	d.dirs, d.lost = files.Dirs{Root: dir}, make(leaseLoss, 1)
	d.unused, err = fileTime(dir)
	return err
}

// place applies where the configuration has the files of threads, and how much a thread may store.
func (d *data) place(snap *config.Snapshot) (err error) {
	if d.dirs, err = storage.Dirs(snap, d.dirs.Root); err != nil {
		return err
	}
	d.dirs.Quota = files.NewQuota(snap.File.Sandbox.Limits.Disk)
	return nil
}

// open opens the database for this server, and checks that the threads' files are in the configured place. Other
// servers of the database reach this one at addr.
func (d *data) open(ctx context.Context, o Options, snap *config.Snapshot, i *insight, addr string) error {
	cfg, err := storage.Join(snap, d.dirs.Root)
	if err != nil {
		return err
	}
	storage.Warn(snap, o.Log)
	cfg.Version, cfg.Lost, cfg.Meter = o.Version, d.lost.tell, i.meter(cfg)
	cfg.Addr, cfg.Log, cfg.Committed, cfg.NoEvents = addr, o.Log, i.committed(o), os.Getenv("FAWN_BENCH_NOSTORE") == "1"
	if d.db, err = store.Open(ctx, cfg); err != nil { // it reports who holds the folder, which also explains a taken port
		return err
	}
	nameNode(o.Log, d.db)
	if err = storage.Prove(ctx, d.db, d.dirs); err != nil {
		return err
	}
	d.dirs.Shelved = projects.Shelved(d.db)
	d.trees, err = storage.Trees(ctx, snap, d.db, &d.dirs, i.objectMeter(snap), o.Log)
	return err
}

// share mounts the files of projects and joins the other servers of the database, whose settings become part of conf.
func (d *data) share(ctx context.Context, conf *config.Store, log *slog.Logger) (err error) {
	d.dirs.Shelf = projects.Shelf(d.db)
	d.shared, err = storage.Share(ctx, d.db, conf, log)
	return err
}

// closeTrees stops storing versions of files.
func (d *data) closeTrees() {
	if d.trees != nil {
		d.trees.Close()
	}
}

// close closes the database, after everything that writes to it.
func (d *data) close() error {
	if d.db == nil {
		return nil
	}
	return d.db.Close()
}

// writable makes the data folder and proves that files can be written there.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("can't create the data folder: %w. Choose another with --data", err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("can't write to the data folder %s: %w. Choose another with --data", dir, errors.Unwrap(err))
	}
	name := probe.Name()
	return errors.Join(probe.Close(), os.Remove(name))
}

// fileTime is the time that a newly written file gets. Clocks of file systems are coarse and may be those of another
// machine, so the local clock can't tell which of two files is older.
func fileTime(dir string) (at time.Time, err error) {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return at, fmt.Errorf("can't write to the data folder %s: %w", dir, errors.Unwrap(err))
	}
	info, err := f.Stat()
	if err == nil {
		at = info.ModTime()
	}
	return at, errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// Ready is [writable], and resumes an interrupted restore.
func Ready(dir string, log *slog.Logger) error {
	if err := writable(dir); err != nil {
		return err
	}
	done, err := backup.Finish(dir)
	if done && err == nil && log != nil {
		log.Warn("finished an interrupted restore", "dir", dir)
	}
	return err
}

// ErrReplaced is why a server ends from which another has taken the database over, or may have.
var ErrReplaced = store.ErrFenced

// OpenStore opens a data folder's configured database for a command, and returns the location of the threads' files.
func OpenStore(ctx context.Context, o Options, dir string) (*store.DB, files.Dirs, error) {
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil {
		return nil, files.Dirs{}, err
	}
	dirs, err := storage.Dirs(snap, dir)
	if err != nil {
		return nil, dirs, err
	}
	cfg, err := storage.Config(snap, dir)
	if err != nil {
		return nil, dirs, err
	}
	cfg.Log, cfg.Version = o.Log, o.Version
	cfg.Timeout = -1 // commands have no time limit
	db, err := store.Open(ctx, cfg)
	return db, dirs, err
}
