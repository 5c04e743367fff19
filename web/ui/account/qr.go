package account

import (
	"strconv"
	"strings"

	"rsc.io/qr"

	"fawn/views"
)

// quiet is the white border of a QR code, in modules.
const quiet = 4

// DrawQR returns the picture of a text that cameras of phones read. It is drawn here, so the secret in it goes nowhere
// else.
func DrawQR(text string) (views.QR, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return views.QR{}, err
	}
	var b strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > from {
				n := strconv.Itoa(x - from)
				b.WriteString("M" + strconv.Itoa(from+quiet) + " " + strconv.Itoa(y+quiet) + "h" + n + "v1h-" + n + "z")
			}
		}
	}
	return views.QR{Size: code.Size + 2*quiet, Path: b.String()}, nil
}
