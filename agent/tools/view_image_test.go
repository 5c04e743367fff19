package tools_test

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
)

// picture is a real image of 2 by 2 points.
func picture(t *testing.T, encode func(io.Writer, image.Image) error) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))))
	return b.String()
}

func asPNG(t *testing.T) string { return picture(t, png.Encode) }

func asJPEG(t *testing.T) string {
	return picture(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) })
}

func asGIF(t *testing.T) string {
	return picture(t, func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) })
}

func TestViewImageTakesPicturesThatAreWhatTheirNameSays(t *testing.T) {
	k := newKit(t, nil)
	k.put("workspace/a.png", asPNG(t))
	k.put("uploads/B.JPEG", asJPEG(t))
	k.put("outputs/c.gif", asGIF(t))
	k.put("outputs/d.webp", "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00/\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")
	for _, c := range []struct{ path, clean, kind string }{
		{"a.png", "/mnt/user-data/workspace/a.png", "image/png"},
		{"../uploads/B.JPEG", "/mnt/user-data/uploads/B.JPEG", "image/jpeg"},
		{"/mnt/user-data/outputs/c.gif", "/mnt/user-data/outputs/c.gif", "image/gif"},
		{"/mnt/user-data/outputs/d.webp", "/mnt/user-data/outputs/d.webp", "image/webp"},
	} {
		k.want("view_image", `{"image_path":"`+c.path+`"}`, "Successfully read image")
		r := k.run("view_image", `{"image_path":"`+c.path+`"}`)
		info := must.Get(os.Stat(filepath.Join(k.host, strings.TrimPrefix(c.clean, "/mnt/user-data/"))))(t)
		want := map[string]agent.Image{c.clean: {MimeType: c.kind, Size: info.Size(), Path: c.clean}}
		if !maps.Equal(r.Patch.ViewedImages, want) {
			t.Errorf("%s: %+v", c.path, r.Patch.ViewedImages)
		}
		if body, err := agent.Encode(r.Patch); err != nil || bytes.Contains(body, []byte("base64")) || len(body) > 300 {
			t.Errorf("%s is stored as %s %v", c.path, body, err)
		}
	}
}

func TestViewImageRefusesEverythingElse(t *testing.T) {
	k := newKit(t, nil)
	k.put("workspace/jpeg.png", asJPEG(t))
	k.put("workspace/text.jpg", "<svg onload=alert(1)>")
	k.put("workspace/a.svg", "<svg/>")
	k.put("workspace/none", asPNG(t))
	k.put("workspace/empty.gif", "")
	k.put("workspace/large.png", asPNG(t))
	must.Do(t, os.Truncate(filepath.Join(k.host, "workspace/large.png"), 20<<20+1))
	k.put("workspace/bomb.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\xff\xff\x00\x00\xff\xff\x08\x06\x00\x00\x00\xb6\x05\xd9\x50")
	must.Do(t, os.Symlink("/etc/hostname", filepath.Join(k.host, "workspace/out.png")))
	must.Do(t, os.MkdirAll(filepath.Join(k.host, "workspace/dir.png"), 0o755))
	const ends = ". The name must end in .jpg, .jpeg, .png, .webp or .gif."
	for _, c := range []struct{ args, want string }{
		{`{"image_path":"jpeg.png"}`, "Error: jpeg.png doesn't match its name: its content is image/jpeg, not image/png"},
		{`{"image_path":"text.jpg"}`, "Error: text.jpg doesn't match its name: its content is text/plain; charset=utf-8, not image/jpeg"},
		{`{"image_path":"a.svg"}`, "Error: Not a picture that can be viewed: a.svg" + ends},
		{`{"image_path":"none"}`, "Error: Not a picture that can be viewed: none" + ends},
		{`{"image_path":"empty.gif"}`, "Error: empty.gif is empty or cannot be read"},
		{`{"image_path":"large.png"}`, "Error: large.png has 20.0 MiB, more than the 20 that can be viewed. Make a smaller version first."},
		{`{"image_path":"bomb.png"}`, "Error: bomb.png cannot be viewed: it has 65535 × 65535 pixels, more than the 50 million that can be shown. Make a smaller version first."},
		{`{"image_path":"no.png"}`, "Error: File not found: no.png"},
		{`{"image_path":"dir.png"}`, "Error: Not a regular file (directories, pipes and devices cannot be used here): dir.png"},
		{`{"image_path":"out.png"}`, "Error: Access denied: a symbolic link leads out of the allowed folders"},
		{`{"image_path":"/etc/a.png"}`, "Error: only paths under /mnt/user-data/ and /mnt/skills/ are allowed"},
		{`{"image_path":"/mnt/skills/a.png"}`, "Error: Only pictures below /mnt/user-data can be viewed: /mnt/skills/a.png"},
		{`{}`, `Error: argument "image_path" is missing`},
	} {
		k.want("view_image", c.args, c.want)
		if r := k.run("view_image", c.args); r.Patch.ViewedImages != nil {
			t.Errorf("%s is in the state: %+v", c.args, r.Patch.ViewedImages)
		}
	}
}
