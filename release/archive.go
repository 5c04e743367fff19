package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
)

// entry is one file of an archive, or a folder if its name ends in a slash.
type entry struct {
	name string
	mode int64
	from string // the file that has its content; empty is content
	text string
}

func (e entry) open() (io.ReadCloser, int64, error) {
	if e.from == "" {
		return io.NopCloser(strings.NewReader(e.text)), int64(len(e.text)), nil
	}
	f, err := os.Open(e.from)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (e entry) folder() bool { return strings.HasSuffix(e.name, "/") }

// tarball packs files in the order given, all of root and of one time, so that nothing of the
// machine gets in.
func (r release) tarball(w io.Writer, files []entry) error {
	gz := gzip.NewWriter(w)
	tw := tar.NewWriter(gz)
	for _, e := range files {
		h := &tar.Header{Name: e.name, Mode: e.mode, ModTime: r.time, Uname: "root", Gname: "root",
			Format: tar.FormatGNU}
		if e.folder() {
			h.Typeflag = tar.TypeDir
		}
		if err := r.add(e, func(size int64) (io.Writer, error) {
			h.Size = size
			return tw, tw.WriteHeader(h)
		}); err != nil {
			return err
		}
	}
	return errors.Join(tw.Close(), gz.Close())
}

// zip converts a tarball for systems without tar.
func (r release) zip(w io.Writer, files []entry) error {
	zw := zip.NewWriter(w)
	for _, e := range files {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: r.time}
		h.SetMode(os.FileMode(e.mode))
		if err := r.add(e, func(int64) (io.Writer, error) { return zw.CreateHeader(h) }); err != nil {
			return err
		}
	}
	return zw.Close()
}

func (r release) add(e entry, begin func(size int64) (io.Writer, error)) error {
	from, size, err := e.open()
	if err != nil {
		return err
	}
	defer from.Close()
	w, err := begin(size)
	if err == nil {
		_, err = io.Copy(w, from)
	}
	return err
}
