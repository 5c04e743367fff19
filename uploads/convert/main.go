package convert

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"fawn/uploads/pictures"
)

// Role is the name under which the program is started to convert one document. It is
// followed by the path of the document, that for the Markdown, and the document's own name.
// Without a document it only compiles the PDF reader into the folder that Cache names.
const Role = "fawn-convert"

// Encoding is the variable with the selected encoding of a document's text.
const Encoding = "FAWN_CONVERT_ENCODING"

// PictureRole is the role for drawing an image: the arguments are the paths of the image and the result, and the
// longest side in pixels.
const PictureRole = "fawn-picture"

// MaxInput is the size of a document in bytes.
const MaxInput = 512 << 20

// memory is the Go runtime's memory limit in the child, in bytes.
const memory = 512 << 20

// Line is a progress report of the child, one per line: pages done, and completion.
type Line struct {
	Done  int    `json:"done,omitempty"`
	Pages int    `json:"pages,omitempty"`
	End   bool   `json:"end,omitempty"`
	Lack  Reason `json:"lack,omitempty"` // reason for a failure or omission
	Text  bool   `json:"text,omitempty"` // there is Markdown
	// Encoding is the detected encoding of a text.
	Encoding string `json:"encoding,omitempty"`
}

// answers remembers that this program calls Main.
var answers atomic.Bool

// Answers reports whether this program may be started under the Role.
func Answers() bool { return answers.Load() }

// Main takes over the process if it was started to convert a document or to draw a picture, and exits then. It costs
// nothing otherwise.
func Main() {
	if len(os.Args) != 4 || os.Args[0] != Role && os.Args[0] != PictureRole {
		answers.Store(true)
		return
	}
	confine()
	debug.SetMemoryLimit(memory)
	if os.Args[0] == PictureRole {
		if picture(os.Args[1], os.Args[2], os.Args[3], os.Stdout) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Args[1] == "" {
		if warm() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if child(os.Args[1], os.Args[2], os.Args[3], os.Stdout) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// sayEvery is the interval of the child's progress reports.
const sayEvery = 100 * time.Millisecond

func child(in, out, name string, w io.Writer) error {
	say := json.NewEncoder(w)
	fail := func(r Reason) error { return say.Encode(Line{End: true, Lack: r}) }
	info, err := os.Stat(in)
	if err != nil {
		return err
	}
	if info.Size() > MaxInput {
		return fail(Limits)
	}
	data, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	var said time.Time
	res, err := ConvertAs(name, data, os.Getenv(Encoding), func(done, of int) {
		if now := time.Now(); now.Sub(said) >= sayEvery {
			said = now
			if say.Encode(Line{Done: done, Pages: of}) != nil {
				os.Exit(1) // the parent has exited
			}
		}
	})
	var why Reason
	switch {
	case errors.As(err, &why):
		return fail(why)
	case err != nil:
		return fail(Crashed)
	}
	if err := os.WriteFile(out, []byte(res.Markdown), 0o600); err != nil {
		return err
	}
	return say.Encode(Line{End: true, Text: true, Lack: res.Partial, Encoding: res.Encoding})
}

// picture draws one picture. That it cannot be drawn is an answer, too.
func picture(in, out, side string, w io.Writer) error {
	long, err := strconv.Atoi(side)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	drawn, err := pictures.Draw(data, long)
	if err != nil {
		return json.NewEncoder(w).Encode(Line{End: true, Lack: Damaged})
	}
	if err := os.WriteFile(out, drawn, 0o600); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(Line{End: true, Text: true})
}
