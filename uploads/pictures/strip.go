package pictures

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
)

// errDamaged means that a picture of a known format is invalid.
var errDamaged = errors.New("it is damaged")

// strip removes an image's metadata: place, time, device, author, previews and any data after its end. Data that
// affects its appearance stays. orientation is the EXIF orientation, 1 to 8, where 1 is upright. Unknown formats are
// returned unchanged.
func strip(data []byte) (out []byte, orientation int, err error) {
	switch kindOf(data) {
	case "image/jpeg":
		return stripJPEG(data)
	case "image/png":
		return stripPNG(data)
	case "image/webp":
		return stripWebP(data)
	case "image/gif":
		out, err = stripGIF(data)
		return out, 1, err
	}
	return data, 1, nil
}

// kindOf returns the type of an image by its first bytes, empty for unsupported ones.
func kindOf(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xd8, 0xff}):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte(pngMagic)):
		return "image/png"
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return "image/webp"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	}
	return ""
}

// unknownKind names some kinds that are not read here, by their first bytes.
func unknownKind(head []byte) string {
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		switch string(head[8:12]) {
		case "avif", "avis":
			return "AVIF"
		case "heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1":
			return "HEIC"
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("II*\x00")), bytes.HasPrefix(head, []byte("MM\x00*")):
		return "TIFF"
	case bytes.HasPrefix(head, []byte("BM")):
		return "BMP"
	case bytes.HasPrefix(head, []byte("\x00\x00\x00\x0cJXL ")), bytes.HasPrefix(head, []byte{0xff, 0x0a}):
		return "JPEG XL"
	}
	return ""
}

// Markers of JPEG.
const (
	startOfScan = 0xda
	endOfImage  = 0xd9
	comment     = 0xfe
	app0        = 0xe0
	app1        = 0xe1
	app2        = 0xe2
	app14       = 0xee
	app15       = 0xef
)

// stripJPEG walks the segments to the end of the image. Phones append more images with their own metadata.
func stripJPEG(data []byte) ([]byte, int, error) {
	out := append(make([]byte, 0, len(data)), 0xff, 0xd8)
	turn, pixels := 1, false
	for at := 2; ; {
		for at+1 < len(data) && data[at] == 0xff && data[at+1] == 0xff { // padding
			at++
		}
		if at+1 >= len(data) && pixels { // truncated: show the existing part
			return append(out, 0xff, endOfImage), turn, nil
		}
		if at+1 >= len(data) || data[at] != 0xff {
			return nil, 1, errDamaged
		}
		kind := data[at+1]
		if kind == endOfImage {
			return append(out, 0xff, endOfImage), turn, nil
		}
		if at+4 > len(data) {
			return nil, 1, errDamaged
		}
		size := 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		if size < 4 || at+size > len(data) {
			return nil, 1, errDamaged
		}
		segment := data[at : at+size]
		at += size
		if exif, found := bytes.CutPrefix(segment[4:], []byte("Exif\x00\x00")); found && kind == app1 && turn == 1 {
			turn = orientationOf(exif)
		}
		if tells(kind, segment[4:]) {
			continue
		}
		out = append(out, segment...)
		if kind == startOfScan {
			pixels = true
			end := scanEnd(data, at)
			out, at = append(out, data[at:end]...), end
		}
	}
}

// tells reports whether a segment is only metadata. Colors need the ICC profile (APP2) and Adobe's color transform
// (APP14).
func tells(kind byte, body []byte) bool {
	switch {
	case kind == app0:
		return !bytes.HasPrefix(body, []byte("JFIF\x00"))
	case kind == app2:
		return !bytes.HasPrefix(body, []byte("ICC_PROFILE\x00"))
	}
	return kind == comment || kind >= app1 && kind <= app15 && kind != app14
}

// scanEnd returns where the coded pixels that begin at from end: at the next marker that is not part of them.
func scanEnd(data []byte, from int) int {
	for at := from; ; at++ {
		next := bytes.IndexByte(data[at:], 0xff)
		if next < 0 || at+next+1 >= len(data) {
			return len(data)
		}
		at += next
		if m := data[at+1]; m != 0 && m != 0xff && (m < 0xd0 || m > 0xd7) {
			return at
		}
	}
}

// orientationOf reads the orientation from EXIF data, 1 without one.
func orientationOf(exif []byte) int {
	if len(exif) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if exif[0] == 'I' {
		order = binary.LittleEndian
	}
	at := int64(order.Uint32(exif[4:]))
	if at+2 > int64(len(exif)) {
		return 1
	}
	for i := range int64(order.Uint16(exif[at:])) {
		e := at + 2 + 12*i
		if e+12 > int64(len(exif)) {
			break
		}
		if v := int(order.Uint16(exif[e+8:])); order.Uint16(exif[e:]) == 0x0112 && v >= 1 && v <= 8 {
			return v
		}
	}
	return 1
}

const pngMagic = "\x89PNG\r\n\x1a\n"

// pngLooks are the chunks that decide how a PNG looks, animated ones included.
const pngLooks = " IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs sPLT acTL fcTL fdAT "

func stripPNG(data []byte) ([]byte, int, error) {
	out := append(make([]byte, 0, len(data)), pngMagic...)
	turn := 1
	for at := len(pngMagic); at < len(data); {
		if at+12 > len(data) {
			break
		}
		size := int64(binary.BigEndian.Uint32(data[at:])) + 12
		if int64(at)+size > int64(len(data)) {
			break
		}
		chunk := data[at : at+int(size)]
		at += len(chunk)
		switch kind := string(chunk[4:8]); {
		case kind == "eXIf":
			turn = orientationOf(chunk[8 : len(chunk)-4])
		case kind == "IEND":
			return append(out, chunk...), turn, nil
		case strings.Contains(pngLooks, " "+kind+" "):
			out = append(out, chunk...)
		}
	}
	return nil, 1, errDamaged
}

// webpLooks are the chunks that decide how a WebP looks.
const webpLooks = "|VP8 |VP8L|VP8X|ALPH|ANIM|ANMF|ICCP|"

func stripWebP(data []byte) ([]byte, int, error) {
	out := append(make([]byte, 0, len(data)), data[:12]...)
	turn, pixels := 1, false
	end := min(int64(len(data)), 8+int64(binary.LittleEndian.Uint32(data[4:])))
	for at := int64(12); at+8 <= end; {
		size := int64(binary.LittleEndian.Uint32(data[at+4:]))
		next := at + 8 + size + size&1
		if at+8+size > end {
			return nil, 1, errDamaged
		}
		chunk := data[at:min(next, end)]
		at = next
		switch kind := string(chunk[:4]); {
		case kind == "EXIF":
			turn = orientationOf(bytes.TrimPrefix(chunk[8:], []byte("Exif\x00\x00")))
		case strings.Contains(webpLooks, "|"+kind+"|"):
			from := len(out)
			out = append(out, chunk...)
			if kind == "VP8X" && size > 0 {
				out[from+8] &^= 0x0c // flags for EXIF and XMP
			}
			pixels = pixels || kind != "VP8X" && kind != "ICCP"
		}
	}
	if !pixels {
		return nil, 1, errDamaged
	}
	if len(out)%2 == 1 {
		out = append(out, 0)
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out, turn, nil
}

// stripGIF drops comments, texts and application data except the number of repetitions.
func stripGIF(data []byte) ([]byte, error) {
	at := 13
	if len(data) < at {
		return nil, errDamaged
	}
	at += colours(data[10])
	if at > len(data) {
		return nil, errDamaged
	}
	out := append(make([]byte, 0, len(data)), data[:at]...)
	for at < len(data) {
		from, keep := at, true
		switch data[at] {
		case 0x3b:
			return append(out, 0x3b), nil
		case 0x21:
			if at+2 >= len(data) {
				return nil, errDamaged
			}
			label, body := data[at+1], data[at+2:]
			repeats := bytes.HasPrefix(body, []byte("\x0bNETSCAPE2.0")) ||
				bytes.HasPrefix(body, []byte("\x0bANIMEXTS1.0"))
			keep = label == 0xf9 || label == 0xff && repeats
			at += 2
		case 0x2c:
			if at+11 > len(data) {
				return nil, errDamaged
			}
			at += 10 + colours(data[at+9]) + 1
		default:
			return nil, errDamaged
		}
		for at < len(data) && data[at] != 0 {
			at += 1 + int(data[at])
		}
		if at++; at > len(data) {
			return nil, errDamaged
		}
		if keep {
			out = append(out, data[from:at]...)
		}
	}
	return append(out, 0x3b), nil
}

// colours returns the size of a table of colours in bytes.
func colours(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}
