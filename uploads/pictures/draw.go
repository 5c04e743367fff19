package pictures

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"

	"fawn/uploads"

	"golang.org/x/image/draw"
)

// JPEG quality of full-size and small pictures.
const (
	fullQuality  = 92
	smallQuality = 82
)

// Draw decodes an image and draws it upright with no side longer than side pixels; 0 keeps its size. The result is a
// JPEG, or a PNG for transparent images and PNGs. It needs much memory and should run in a separate process.
func Draw(data []byte, side int) ([]byte, error) {
	if err := uploads.CheckPicture(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	_, turn, err := strip(data)
	if err != nil {
		return nil, err
	}
	src, kind, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode picture: %w", err)
	}
	size := src.Bounds().Size()
	if size.X == 0 || size.Y == 0 {
		return nil, errDamaged
	}
	img := image.NewNRGBA(image.Rectangle{Max: fit(size, side)})
	if img.Rect.Size() == size {
		draw.Copy(img, image.Point{}, src, src.Bounds(), draw.Src, nil)
	} else {
		draw.CatmullRom.Scale(img, img.Rect, src, src.Bounds(), draw.Src, nil)
	}
	img = upright(img, turn)
	var b bytes.Buffer
	if !img.Opaque() || kind == "png" && side == 0 {
		err = png.Encode(&b, img)
	} else {
		quality := smallQuality
		if side == 0 {
			quality = fullQuality
		}
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: quality})
	}
	if err != nil {
		return nil, fmt.Errorf("encode picture: %w", err)
	}
	return b.Bytes(), nil
}

// fit returns an image's size with limited sides.
func fit(size image.Point, side int) image.Point {
	long := max(size.X, size.Y)
	if side == 0 || long <= side {
		return size
	}
	return image.Pt(max(1, size.X*side/long), max(1, size.Y*side/long))
}

// upright rotates an image according to its EXIF orientation, one of eight.
func upright(src *image.NRGBA, turn int) *image.NRGBA {
	if turn <= 1 || turn > 8 {
		return src
	}
	w, h := src.Rect.Dx(), src.Rect.Dy()
	size := image.Pt(w, h)
	if turn >= 5 {
		size = image.Pt(h, w)
	}
	out := image.NewNRGBA(image.Rectangle{Max: size})
	for y := range h {
		row := src.Pix[y*src.Stride:]
		for x := range w {
			tx, ty := x, y
			switch turn {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			at := ty*out.Stride + 4*tx
			copy(out.Pix[at:at+4], row[4*x:4*x+4])
		}
	}
	return out
}
