package skills

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// toolName is the file of a bundled skill replaced by the program.
const toolName = "skilltool"

// bringTool copies the program into a skill that has a place for it. Without the program, the skill's own file stays
// and reports that when run.
func (l *Library) bringTool(s Skill, dir string) {
	at := filepath.Join(dir, toolName)
	if _, err := os.Lstat(at); err != nil || !s.Bundled {
		return
	}
	err := os.Chmod(at, 0o755)
	if l.o.Tool != "" && runtime.GOOS != "windows" { // scripts don't run there
		err = cmp.Or(err, l.linkTool(at))
	}
	if err != nil {
		l.o.Log.Warn("couldn't load a skill's tool", "skill", s.Name, "problem", reason(err))
	}
}

// linkTool replaces a file with the program. A link needs no space; if linking fails, all skills share
// one copy, which is kept between starts.
func (l *Library) linkTool(at string) error {
	info, err := os.Stat(l.o.Tool)
	if err != nil {
		return err
	}
	temp := at + ".new"
	if info.Mode()&0o055 != 0o055 || os.Link(l.o.Tool, temp) != nil {
		kept := filepath.Join(l.toolFolder(), fmt.Sprintf("%x-%x", info.Size(), info.ModTime().UnixNano()))
		if err := l.keepTool(kept); err != nil {
			return err
		}
		if err := os.Link(kept, temp); err != nil {
			return err
		}
	}
	return os.Rename(temp, at)
}

// spareRoom is the disk space to leave free for chats besides a copy of the program.
const spareRoom = 256 << 20

// toolFolder returns where a copy of the program is kept.
func (l *Library) toolFolder() string { return l.o.Shown + ".tool" }

// keepTool creates the copy and removes those of other versions.
func (l *Library) keepTool(at string) (err error) {
	if _, err := os.Stat(at); err == nil {
		return nil
	}
	if err := os.RemoveAll(l.toolFolder()); err != nil {
		return err
	}
	in, err := os.Open(l.o.Tool)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if l.o.Room != nil {
		if room, known := l.o.Room(); known && room < info.Size()+spareRoom {
			return fmt.Errorf("the data folder has no room for a copy of %s (%d MiB): put the program on the same disk, "+
				"or have %d MiB free", l.o.Tool, info.Size()>>20, (info.Size()+spareRoom)>>20)
		}
	}
	if err := os.MkdirAll(l.toolFolder(), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(at+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o755), out.Close())
	if err != nil {
		return err
	}
	return os.Rename(at+".new", at)
}
