package tools

import (
	"context"
	_ "embed" // the texts of the tools
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"fawn/agent"
	"fawn/sandbox/files"
	"fawn/uploads"

	"github.com/gabriel-vasile/mimetype"
)

//go:embed view_image.md
var viewImageText string

// ViewImage is the name of the tool that only a model which reads images can use.
const ViewImage = "view_image"

// maxImage is the size of a picture in bytes.
const maxImage = 20 << 20

type viewImageArgs struct {
	ImagePath string `json:"image_path" jsonschema:"the picture; absolute, or relative to /mnt/user-data/workspace"`
}

func (s *set) viewImage(_ context.Context, t *agent.Turn, a viewImageArgs) (agent.Result, error) {
	clean, err := files.Clean(a.ImagePath)
	if err != nil {
		return explain(err, a.ImagePath, wantFile)
	}
	if !strings.HasPrefix(clean, files.UserData+"/") {
		return failed("Only pictures below %s can be viewed: %s", files.UserData, show(a.ImagePath))
	}
	kind := imageKind(path.Ext(clean))
	if kind == "" {
		return failed("Not a picture that can be viewed: %s. The name must end in .jpg, .jpeg, .png, .webp or .gif.",
			show(a.ImagePath))
	}
	return s.with(t, func(f *files.Files) (agent.Result, error) {
		file, info, err := f.Open(clean)
		if err != nil {
			return explain(err, a.ImagePath, wantFile)
		}
		defer file.Close()
		if info.Size() > maxImage {
			return failed("%s has %.1f MiB, more than the %d that can be viewed. Make a smaller version first.",
				show(a.ImagePath), float64(info.Size())/(1<<20), maxImage>>20)
		}
		head := make([]byte, 3072)
		n, err := io.ReadFull(file, head)
		if err != nil && n == 0 {
			return failed("%s is empty or cannot be read", show(a.ImagePath))
		}
		if found := mimetype.Detect(head[:n]); !found.Is(kind) {
			return failed("%s doesn't match its name: its content is %s, not %s", show(a.ImagePath),
				found.String(), kind)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return agent.Result{}, fmt.Errorf("read picture: %w", err)
		}
		var large *uploads.PictureError
		if errors.As(uploads.CheckPicture(file), &large) {
			return failed("%s cannot be viewed: %v. Make a smaller version first.", show(a.ImagePath), large)
		}
		r := agent.TextResult("Successfully read image")
		r.Patch.ViewedImages = map[string]agent.Image{clean: {MimeType: kind, Size: info.Size(), Path: clean}}
		return r, nil
	})
}

// imageKind returns the media type for a file extension, empty for other files.
func imageKind(ext string) string {
	switch strings.ToLower(ext) {
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".png":
		return "image/png"
	case ".webp":
		return "image/webp"
	case ".gif":
		return "image/gif"
	}
	return ""
}
