package uploads

import (
	"context"
	"fmt"
	"image"
	_ "image/gif" // the kinds whose size can be read
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"path"
	"strings"

	_ "golang.org/x/image/webp"
)

// MaxPixels is the size of a picture that anybody looks at.
const MaxPixels = 50_000_000

// Thumbnail is a small version of a picture.
type Thumbnail struct {
	Data []byte
	Type string
	// Hash is that of the picture and the size: equal ones have equal bytes.
	Hash string
}

// Pictures makes pictures fit to be shown. Its methods may be called by many goroutines.
type Pictures interface {
	// Clean returns a picture of a thread upright and without what it tells about itself, such as
	// where it was taken, and its type. One of a kind that is not known here could tell anything and
	// is refused. Errors match ErrPicture, or are the cause of a ctx that ended.
	Clean(ctx context.Context, thread string, data []byte) (out []byte, kind string, err error)
	// Thumbnail makes a picture of a thread small: no side is longer than side pixels. Errors
	// are those of Clean, and ErrPicture for kinds that are not known.
	Thumbnail(ctx context.Context, thread string, from io.ReaderAt, size int64, side int) (Thumbnail, error)
	// Forget drops what is kept of a thread's pictures.
	Forget(thread string) error
}

// ErrPicture matches PictureError.
var ErrPicture error = sentence("not a picture that can be shown")

// PictureError says why a picture cannot be shown.
type PictureError struct {
	Width, Height int    // where it has too many pixels
	Unknown       bool   // it is of no kind that can be read here
	Kind          string // with Unknown: its name, such as HEIC, empty for what may be no picture at all
}

func (e *PictureError) Error() string {
	if e.Width > 0 {
		return fmt.Sprintf("it has %d × %d pixels, more than the %d million that can be shown", e.Width, e.Height,
			MaxPixels/1_000_000)
	}
	switch {
	case e.Unknown && e.Kind != "":
		return "it is in the " + e.Kind + " format; JPEG, PNG, WebP and GIF can be shown"
	case e.Unknown:
		return "it is not in a format that can be shown, which are JPEG, PNG, WebP and GIF"
	}
	return "it is damaged"
}

// UnseenPicture names the format of a picture by the name of its file when it is one that models
// are not shown; otherwise it is empty.
func UnseenPicture(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".heic", ".heif", ".hif":
		return "HEIC"
	case ".avif":
		return "AVIF"
	case ".tif", ".tiff":
		return "TIFF"
	case ".bmp":
		return "BMP"
	case ".jxl":
		return "JPEG XL"
	}
	return ""
}

// Is matches ErrPicture.
func (e *PictureError) Is(target error) bool { return target == ErrPicture }

// CheckPicture looks at the beginning of a picture for how large it is. It returns a
// PictureError for one with more than MaxPixels, and nothing for what it cannot read.
func CheckPicture(from io.Reader) error {
	c, _, err := image.DecodeConfig(from)
	if err == nil && int64(c.Width)*int64(c.Height) > MaxPixels {
		return &PictureError{Width: c.Width, Height: c.Height}
	}
	return nil
}

// NoPictures leaves pictures as they are.
type NoPictures struct{}

// Clean returns what it gets.
func (NoPictures) Clean(_ context.Context, _ string, data []byte) ([]byte, string, error) {
	return data, "", nil
}

// Thumbnail makes none.
func (NoPictures) Thumbnail(context.Context, string, io.ReaderAt, int64, int) (Thumbnail, error) {
	return Thumbnail{}, ErrPicture
}

// Forget has nothing to forget.
func (NoPictures) Forget(string) error { return nil }

// Thumb returns the thumbnail of a file.
func Thumb(ctx context.Context, p Pictures, thread string, file *os.File, side int) (Thumbnail, error) {
	info, err := file.Stat()
	if err != nil {
		return Thumbnail{}, err
	}
	t, err := p.Thumbnail(ctx, thread, file, info.Size(), side)
	if err != nil {
		return t, fmt.Errorf("no thumbnail: %w", err)
	}
	return t, nil
}
