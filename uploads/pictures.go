package uploads

import (
	"context"
	"fmt"
	"image"
	_ "image/gif" // formats with known dimensions
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"path"
	"strings"

	_ "golang.org/x/image/webp"
)

// MaxPixels limits the size of an image.
const MaxPixels = 50_000_000

// Thumbnail is a small version of a picture.
type Thumbnail struct {
	Data []byte
	Type string
	// Hash identifies image and size: equal hashes have equal bytes.
	Hash string
}

// Pictures prepares images for display. It is safe for concurrent use.
type Pictures interface {
	// Clean returns a thread's image upright and without metadata, such as the location, with its type. Unknown formats
	// are refused, since their metadata can't be removed. Errors match ErrPicture, or are the cause of an ended ctx.
	Clean(ctx context.Context, thread string, data []byte) (out []byte, kind string, err error)
	// Thumbnail scales a thread's image down so that no side exceeds side pixels. Errors are those of Clean, and
	// ErrPicture for unknown formats.
	Thumbnail(ctx context.Context, thread string, from io.ReaderAt, size int64, side int) (Thumbnail, error)
	// Forget drops a thread's cached images.
	Forget(thread string) error
}

// ErrPicture matches PictureError.
var ErrPicture error = sentence("not a picture that can be shown")

// PictureError is the reason why an image can't be shown.
type PictureError struct {
	Width, Height int    // set if there are too many pixels
	Unknown       bool   // its format is unsupported
	Kind          string // with Unknown: its format, such as HEIC, empty for a file that may not be an image
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

// UnseenPicture returns the format of an image, by its file name, if models can't be shown that format; otherwise "".
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

// CheckPicture reads an image's dimensions from its beginning. It returns a PictureError above MaxPixels, and nothing
// for unreadable ones.
func CheckPicture(from io.Reader) error {
	c, _, err := image.DecodeConfig(from)
	if err == nil && int64(c.Width)*int64(c.Height) > MaxPixels {
		return &PictureError{Width: c.Width, Height: c.Height}
	}
	return nil
}

// NoPictures leaves pictures as they are.
type NoPictures struct{}

// Clean returns its input.
func (NoPictures) Clean(_ context.Context, _ string, data []byte) ([]byte, string, error) {
	return data, "", nil
}

// Thumbnail isn't supported.
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
