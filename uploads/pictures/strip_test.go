package pictures

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"fawn/agent/agenttest/must"
)

// secret stands for all that a picture tells about its owner.
const secret = "48.8584N 2.2945E"

// exif is EXIF data with an orientation and a place.
func exif(turn byte) []byte {
	return append([]byte{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, turn, 0, 0,
		0, 0, 0, 0}, secret...)
}

func segment(marker byte, body ...string) []byte {
	var b []byte
	for _, s := range body {
		b = append(b, s...)
	}
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(b)+2)), b...)
}

func chunk(kind, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = append(append(b, kind...), body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// six is a picture of three by two pixels, each of a grey of its own.
func six() *image.Gray {
	img := image.NewGray(image.Rect(0, 0, 3, 2))
	copy(img.Pix, []byte{10, 50, 90, 130, 170, 210})
	return img
}

func photo(t testing.TB, img image.Image, turn byte) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, jpeg.Encode(&b, img, nil))
	out := []byte{0xff, 0xd8}
	out = append(out, segment(0xe0, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00")...)
	out = append(out, segment(0xe0, "JFXX\x00", secret)...)
	out = append(out, segment(0xe1, "Exif\x00\x00", string(exif(turn)))...)
	out = append(out, segment(0xe1, "http://ns.adobe.com/xap/1.0/\x00", secret)...)
	out = append(out, segment(0xe2, "ICC_PROFILE\x00\x01\x01 colours")...)
	out = append(out, segment(0xe2, "MPF\x00", secret)...)
	out = append(out, segment(0xed, "Photoshop 3.0\x00", secret)...)
	out = append(out, segment(0xfe, secret)...)
	out = append(out, b.Bytes()[2:]...)
	return append(out, "\xff\xd8 another picture of "+secret+"\xff\xd9"...)
}

func drawing(t testing.TB, img image.Image, turn byte) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, img))
	head, rest := b.Bytes()[:33], b.Bytes()[33:]
	out := append([]byte{}, head...)
	for _, c := range [][2]string{{"gAMA", "\x00\x00\xb1\x8f"}, {"eXIf", string(exif(turn))},
		{"tEXt", "Comment\x00" + secret}, {"zTXt", secret}, {"iTXt", secret}, {"tIME", "\x07\xe8\x01\x01\x01\x01\x01"},
		{"prVt", secret}} {
		out = append(out, chunk(c[0], c[1])...)
	}
	return append(append(out, rest...), secret...)
}

// web is a WebP around the lossless pixels of one black point.
func web(turn byte) []byte {
	var b []byte
	add := func(kind, body string) {
		b = binary.LittleEndian.AppendUint32(append(b, kind...), uint32(len(body)))
		b = append(b, body...)
		if len(body)%2 == 1 {
			b = append(b, 0)
		}
	}
	add("VP8X", "\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	add("VP8L", "\x2f\x00\x00\x00\x00\x07\x10\xfd\x8f\xfe\x07\x22\xa2\xff\x01\x00")
	add("EXIF", string(exif(turn)))
	add("XMP ", secret)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(b)+4)), append([]byte("WEBP"), b...)...)
}

func animation(t testing.TB) []byte {
	t.Helper()
	frame := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	must.Do(t, gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}}))
	at := bytes.Index(b.Bytes(), []byte("!\xff\x0bNETSCAPE"))
	note := append([]byte{0x21, 0xfe, byte(len(secret))}, secret...)
	note = append(note, 0)
	note = append(note, "!\xff\x0bXMP DataXMP"+string(byte(len(secret)))+secret+"\x00"...)
	return append(append(append(append([]byte{}, b.Bytes()[:at]...), note...), b.Bytes()[at:]...), secret...)
}

func samples(t testing.TB) map[string][]byte {
	return map[string][]byte{"photo": photo(t, six(), 6), "drawing": drawing(t, six(), 6), "web": web(6),
		"animation": animation(t)}
}

// TestPicturesTellNothingButHowTheyLook: whoever made one put it where its kind allows, and
// behind its end.
func TestPicturesTellNothingButHowTheyLook(t *testing.T) {
	for name, data := range samples(t) {
		if !bytes.Contains(data, []byte(secret)) {
			t.Fatalf("%s tells nothing", name)
		}
		out, turn, err := strip(data)
		if err != nil || bytes.Contains(out, []byte(secret)) || bytes.Contains(out, []byte("Exif")) {
			t.Errorf("%s still tells: %q, %v", name, out, err)
		}
		want := map[string]int{"animation": 1}[name]
		if turn != max(want, 1) && turn != 6 || name != "animation" && turn != 6 {
			t.Errorf("%s: orientation %d", name, turn)
		}
		before, _, errBefore := image.Decode(bytes.NewReader(data))
		after, _, errAfter := image.Decode(bytes.NewReader(out))
		if errBefore != nil || errAfter != nil {
			t.Errorf("%s: %v, %v", name, errBefore, errAfter)
			continue
		}
		for y := range before.Bounds().Dy() {
			for x := range before.Bounds().Dx() {
				if before.At(x, y) != after.At(x, y) {
					t.Errorf("%s looks different", name)
				}
			}
		}
		again, turn, err := strip(out)
		if err != nil || turn != 1 || !bytes.Equal(again, out) {
			t.Errorf("%s is not done with: %v", name, err)
		}
	}
	out, _, err := strip(photo(t, six(), 1))
	if err != nil || !bytes.Contains(out, []byte("ICC_PROFILE")) {
		t.Error("colours are lost")
	}
	all, err := gif.DecodeAll(bytes.NewReader(animation(t)))
	if err != nil || len(all.Image) != 2 {
		t.Errorf("the animation has stopped: %v", err)
	}
}

// TestProgressivePhotosAreWalkedToTheirEnd: what is told may stand between two scans.
func TestProgressivePhotosAreWalkedToTheirEnd(t *testing.T) {
	scan := append(segment(0xda, "\x01\x01\x00\x00\x3f\x00"), "pixels\xff\x00\xff\xd0 more"...)
	data := append([]byte{0xff, 0xd8}, segment(0xc2, "frame")...)
	data = append(append(append(data, scan...), segment(0xfe, secret)...), scan...)
	want := append([]byte{0xff, 0xd8}, segment(0xc2, "frame")...)
	want = append(append(append(want, scan...), scan...), 0xff, 0xd9)
	for _, end := range []string{"", "\xff", "\xff\xd9", "\xff\xd9" + secret} {
		out, _, err := strip(append(bytes.Clone(data), end...))
		if err != nil || !bytes.Equal(bytes.ReplaceAll(out, []byte("\xff\xff"), []byte("\xff")), want) {
			t.Errorf("with %q at the end: %q, %v", end, out, err)
		}
	}
}

func TestDamagedPicturesAreCalledSo(t *testing.T) {
	for name, data := range samples(t) {
		if _, _, err := strip(data[:len(data)/8]); err == nil {
			t.Errorf("%s: the rest is missing, and nobody says so", name)
		}
	}
}

func FuzzStrip(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, turn, err := strip(data)
		if err != nil {
			return
		}
		if turn < 1 || turn > 8 || len(out) > len(data)+2 {
			t.Errorf("orientation %d, %d bytes of %d", turn, len(out), len(data))
		}
		if kindOf(data) == "" {
			return
		}
		again, _, err := strip(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Errorf("%q becomes %q, then %q, %v", data, out, again, err)
		}
	})
}
