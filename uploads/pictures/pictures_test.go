package pictures

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/uploads"
)

// TestPicturesStandUpright: as the eight ways of holding a camera are defined.
func TestPicturesStandUpright(t *testing.T) {
	const grey = "\x0a\x32\x5a\x82\xaa\xd2" // A to F
	for turn, want := range []string{1: "ABC DEF", 2: "CBA FED", 3: "FED CBA", 4: "DEF ABC", 5: "AD BE CF",
		6: "DA EB FC", 7: "FC EB DA", 8: "CF BE AD"} {
		if turn == 0 {
			continue
		}
		out := must.Get(Draw(drawing(t, six(), byte(turn)), 0))(t)
		img, kind, err := image.Decode(bytes.NewReader(out))
		if err != nil || kind != "png" {
			t.Fatalf("%s %v", kind, err)
		}
		var rows []string
		for y := range img.Bounds().Dy() {
			row := ""
			for x := range img.Bounds().Dx() {
				g, _ := color.GrayModel.Convert(img.At(x, y)).(color.Gray)
				row += string(rune('A' + strings.IndexByte(grey, g.Y)))
			}
			rows = append(rows, row)
		}
		if got := strings.Join(rows, " "); got != want {
			t.Errorf("orientation %d gives %s, not %s", turn, got, want)
		}
	}
}

func TestSmallPicturesKeepTheirShape(t *testing.T) {
	clear := image.NewNRGBA(image.Rect(0, 0, 400, 100))
	for name, c := range map[string]struct {
		data []byte
		want image.Point
		kind string
	}{
		"wide":        {photo(t, image.NewGray(image.Rect(0, 0, 400, 100)), 1), image.Pt(64, 16), "jpeg"},
		"turned":      {photo(t, image.NewGray(image.Rect(0, 0, 400, 100)), 6), image.Pt(16, 64), "jpeg"},
		"thin":        {drawing(t, image.NewGray(image.Rect(0, 0, 900, 1)), 1), image.Pt(64, 1), "jpeg"},
		"transparent": {drawing(t, clear, 1), image.Pt(64, 16), "png"},
		"small":       {drawing(t, six(), 1), image.Pt(3, 2), "jpeg"},
		"animation":   {animation(t), image.Pt(3, 2), "jpeg"},
		"web":         {web(1), image.Pt(1, 1), ""},
	} {
		out, err := Draw(c.data, 64)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		conf, kind, err := image.DecodeConfig(bytes.NewReader(out))
		if err != nil || conf.Width != c.want.X || conf.Height != c.want.Y || c.kind != "" && kind != c.kind {
			t.Errorf("%s is a %s of %d × %d, %v", name, kind, conf.Width, conf.Height, err)
		}
		if bytes.Contains(out, []byte(secret)) {
			t.Errorf("%s still tells", name)
		}
	}
}

// bomb is the beginning of a PNG that says it has four thousand million pixels.
func bomb() []byte {
	return append([]byte(pngMagic), chunk("IHDR", "\x00\x00\xff\xff\x00\x00\xff\xff\x08\x06\x00\x00\x00")...)
}

// service draws here, and counts.
func service(t *testing.T) (*Service, func() int) {
	var mu sync.Mutex
	n := 0
	s := New(Config{Dir: filepath.Join(t.TempDir(), "pictures"), Log: slog.New(slog.DiscardHandler),
		Draw: func(_ context.Context, r io.Reader, side int) ([]byte, error) {
			mu.Lock()
			n++
			mu.Unlock()
			data, err := io.ReadAll(r)
			if err != nil {
				return nil, err
			}
			return Draw(data, side)
		}})
	return s, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func TestCleanPictures(t *testing.T) {
	s, drawn := service(t)
	for name, data := range samples(t) {
		kept := bytes.Clone(data)
		out, kind, err := s.Clean(t.Context(), "t", data)
		if err != nil || kind == "" || bytes.Contains(out, []byte(secret)) || !bytes.Equal(data, kept) {
			t.Errorf("%s: %s %v", name, kind, err)
		}
		conf, _, err := image.DecodeConfig(bytes.NewReader(out))
		if err != nil || (name == "photo" || name == "drawing") && (conf.Width != 2 || conf.Height != 3) {
			t.Errorf("%s is %d × %d, %v", name, conf.Width, conf.Height, err)
		}
		again, _, err := s.Clean(t.Context(), "t", data)
		if err != nil || !bytes.Equal(again, out) {
			t.Errorf("%s is another one the next time: %v", name, err)
		}
	}
	if n := drawn(); n != 3 {
		t.Errorf("drawn %d times", n)
	}
	for head, want := range map[string]string{
		"no picture":                        "it is not in a format that can be shown, which are JPEG, PNG, WebP and GIF",
		"\x00\x00\x00\x18ftypheic" + secret: "it is in the HEIC format; JPEG, PNG, WebP and GIF can be shown",
		"\x00\x00\x00\x18ftypavif" + secret: "it is in the AVIF format; JPEG, PNG, WebP and GIF can be shown",
		"II*\x00" + secret:                  "it is in the TIFF format; JPEG, PNG, WebP and GIF can be shown",
		"BM" + secret:                       "it is in the BMP format; JPEG, PNG, WebP and GIF can be shown",
		"\xff\x0a" + secret:                 "it is in the JPEG XL format; JPEG, PNG, WebP and GIF can be shown",
	} {
		out, _, err := s.Clean(t.Context(), "t", []byte(head))
		if out != nil || !errors.Is(err, uploads.ErrPicture) || err.Error() != want {
			t.Errorf("%q becomes %q, %v", head, out, err)
		}
	}
	_, _, err := s.Clean(t.Context(), "t", bomb())
	if !errors.Is(err, uploads.ErrPicture) ||
		err.Error() != "it has 65535 × 65535 pixels, more than the 50 million that can be shown" {
		t.Errorf("a bomb: %v", err)
	}
	if _, _, err = s.Clean(t.Context(), "t", []byte("\xff\xd8\xff\xe0")); !errors.Is(err, uploads.ErrPicture) ||
		err.Error() != "it is damaged" {
		t.Errorf("a stump: %v", err)
	}
	s.cfg.Draw = func(context.Context, io.Reader, int) ([]byte, error) { return nil, errors.New("no") }
	out, kind, err := s.Clean(t.Context(), "other", photo(t, six(), 6))
	if err != nil || kind != "image/jpeg" || bytes.Contains(out, []byte(secret)) {
		t.Errorf("one that could not be turned: %s %v", kind, err)
	}
}

func (s *Service) thumb(t *testing.T, thread string, data []byte) (uploads.Thumbnail, error) {
	t.Helper()
	return s.Thumbnail(t.Context(), thread, bytes.NewReader(data), int64(len(data)), 16)
}

func TestThumbnailsAreDrawnOnce(t *testing.T) {
	s, drawn := service(t)
	data := photo(t, six(), 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := s.thumb(t, "t", data)
			if err != nil || got.Type != "image/jpeg" || len(got.Hash) != 64+len("-16") {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
	all.Wait()
	if drawn() != 1 {
		t.Errorf("drawn %d times", drawn())
	}
	must.Do(t, s.Forget("t"))
	if left, err := os.ReadDir(s.cfg.Dir); err != nil || len(left) > 0 {
		t.Errorf("of a deleted thread there are %v, %v", left, err)
	}
	if _, err := s.thumb(t, "t", data); err != nil || drawn() != 2 {
		t.Errorf("drawn %d times, %v", drawn(), err)
	}
	for name, bad := range map[string][]byte{"a bomb": bomb(), "a drawing of lines": []byte("<svg/>"), "nothing": nil} {
		if _, err := s.thumb(t, "t", bad); !errors.Is(err, uploads.ErrPicture) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if drawn() != 2 {
		t.Errorf("drawn %d times", drawn())
	}
}

// TestKeptPicturesAreBounded: noise does not get smaller.
func TestKeptPicturesAreBounded(t *testing.T) {
	s, _ := service(t)
	r := rand.New(rand.NewPCG(1, 2))
	noise := image.NewNRGBA(image.Rect(0, 0, 32, 32))
	for i := range noise.Pix {
		noise.Pix[i] = byte(r.Uint32())
	}
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, noise))
	s.cfg.Draw = func(context.Context, io.Reader, int) ([]byte, error) {
		return append(bytes.Clone(b.Bytes()), make([]byte, keptBytes/4)...), nil
	}
	for i := range byte(6) {
		must.Get(s.thumb(t, "t", append(bytes.Clone(b.Bytes()), i)))(t)
	}
	left, err := os.ReadDir(filepath.Join(s.cfg.Dir, "t"))
	if err != nil || len(left) != 3 || s.bytes > keptBytes {
		t.Errorf("%d are kept, %d bytes, %v", len(left), s.bytes, err)
	}
}

// TestPicturesOfAnEarlierServerAreNotKept: nobody knows any more whose they are.
func TestPicturesOfAnEarlierServerAreNotKept(t *testing.T) {
	s, _ := service(t)
	old := filepath.Join(s.cfg.Dir, "gone", "picture")
	must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(old), 0o700), os.WriteFile(old, []byte("x"), 0o600)))
	must.Get(s.thumb(t, "t", photo(t, six(), 1)))(t)
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
