package views

import (
	"bytes"
	"encoding/json"
	"fmt"

	"fawn/views/markdown"
)

// The live protocol.
//
// A page with a running turn opens GET /ui/threads/{id}/stream?v={cursor}, where
// cursor is data-cursor of element turns: the position the page was rendered
// at. The answer is an event stream. The browser sends the last id it saw as v
// when it opens the stream again.
//
// The id of an event is the position after that event and not later: of several
// events of one moment only the last carries the new position, the ones before
// it carry the old one (or none, which is the same). So an html event may come
// twice after a reconnect, and does no harm: swaps are idempotent. An md event
// is applied to exactly the text it was made for: from a cursor the server works
// out the text that its reader shows, feeds it to a new Differ and throws that
// patch away.
//
//	event: md     data: Patch   patches the Markdown of one element
//	event: html   data: Frame   swaps elements, sets the title, announces
//	event: reset  data: Frame   the cursor cannot be honoured: the frame replaces
//	                            the inside of element turns; patches start anew
//	event: done   data: Frame   the run is over and nothing more will come; the
//	                            browser applies the frame and closes
//
//	event: wait   data: {"waiting": true or false}   commits have to be waited for, as the disk
//	                            or the database stands still, or no more; without an id
//	event: beat   data: 1       every ten seconds; the browser opens the stream again
//	                            when it has heard nothing for thirty
//
// The beats keep the connection open. The server closes a
// stream whenever it likes; the browser opens it again after 0.5 to 15 s.
//
// Elements. A turn is t-{turn} with the parts th-{turn} (line above the steps),
// trail-{turn}, steps-{turn}, a-{turn} (place of the answer), files-{turn} and
// end-{turn}. An answer is m-{message}. A step is s-{call} with head sh-{call};
// reasoning is r-{message} with head rh-{message}, details rd-{message} and text
// rt-{message}; a note is n-{message} with text nt-{message}. Finished calls of one
// tool in a row are a group g-{call} with head gh-{call} and list gl-{call}, where
// {call} is the first of them (chat.Nodes). Around them: turns,
// title, send, queue, files-button, threads, tl-{thread}.
//
// Recipes, all of them html events unless said:
//
//	a turn begins       append Turn to turns; outer send (SendButton running);
//	                    class/outer tl-{thread} (ThreadRow with its dot)
//	reasoning begins    append Step{Kind: reasoning, State: run, Open: true} to
//	                    steps-{turn}; then md events for rt-{message}
//	reasoning ends      md with final; class r-{message} = chat.StepClass; outer
//	                    rh-{message}; close rd-{message}
//	answer begins       append Answer{Open: true} with empty text to a-{turn};
//	                    then md events for m-{message}
//	it was a note       (the message goes on with tool calls) remove m-{message};
//	                    append Step{Kind: note} to steps-{turn}
//	a tool call begins  append Step to steps-{turn}; outer th-{turn}
//	a tool call ends    outer s-{call}; outer th-{turn}
//	a call joins a group remove s-{call}; append Step to gl-{first}; outer gh-{first}
//	                    (a new group: remove its steps; append chat.Trailing)
//	the plan changes    outer todos (chat.Plan)
//	the queue changes   outer queue (chat.Queue); after a run that ended well the stream
//	                    goes on with the next message, as a reset
//	an app or a picture outer apps-{turn} (TurnApps)
//	files handed over   outer files-{turn} (TurnFiles); outer files-button
//	a title is known    Title in the frame; outer title; outer tl-{thread}
//	a question          is part of end-{turn}: open when the run is over, calm once it
//	                    is answered
//	a turn ends         md with final for the open texts; class t-{turn} =
//	                    chat.TurnClass; outer th-{turn}; outer
//	                    end-{turn}; outer send; outer tl-{thread}; Say; then done

// Patch is the data of an md event.
type Patch struct {
	Element string        `json:"m"` // m-{message}, rt-{message} or nt-{message}
	Ops     []markdown.Op `json:"ops"`
}

// How is the way in which a swap changes its target.
type How string

// The kinds of swaps.
const (
	SwapOuter  How = "outer"  // replace the element; folds keep their state where ids match
	SwapInner  How = "inner"  // replace the content
	SwapAppend How = "append" // append to the content, or replace the element with the new one's id
	SwapBefore How = "before" // insert before the element, or replace as append does
	SwapRemove How = "remove" // remove the element; HTML is empty
	SwapClass  How = "class"  // set the class attribute to HTML; aria-busy follows the words run and wait
	SwapClose  How = "close"  // fold a details element unless the reader has touched it
)

// Swap changes one element. A target that is not on the page is skipped.
type Swap struct {
	Target string `json:"target"`
	How    How    `json:"how"`
	HTML   string `json:"html,omitempty"`
}

// Frame is the data of html, reset and done events, and of the answer to a form
// that was sent with header "X-Fawn: 1".
type Frame struct {
	Swap     []Swap      `json:"swap,omitempty"`
	Title    string      `json:"title,omitempty"`    // new title of the document, without the name of the app
	Say      string      `json:"say,omitempty"`      // for screen readers, in the reader's language
	File     *FileGrowth `json:"file,omitempty"`     // part of a file being written
	Running  bool        `json:"running,omitempty"`  // answer to a form: a run is active, open the stream
	Streamed bool        `json:"streamed,omitempty"` // answer to a form: the stream of a page that follows a run shows it, too
	Cursor   string      `json:"cursor,omitempty"`   // answer to a form: where the stream begins
	Location string      `json:"location,omitempty"` // answer to a form: go to this page
	Chip     string      `json:"chip,omitempty"`     // answer to an upload: the HTML of chat.UploadChip
	Error    string      `json:"error,omitempty"`    // answer to a form: why it was refused, in the reader's language
}

// FileGrowth is the next part of a file that the model is writing.
type FileGrowth struct {
	Path string `json:"path"` // virtual, without its leading slash
	At   int    `json:"at"`   // start of Text in UTF-16 units; -1 when the file is written
	Text string `json:"text,omitempty"`
}

// Do adds a swap without a component: remove, class, close.
func (f *Frame) Do(how How, target, value string) {
	f.Swap = append(f.Swap, Swap{Target: target, How: how, HTML: value})
}

// JSON returns the frame on one line, ready for a data field.
func (f Frame) JSON() ([]byte, error) { return compact(f) }

// JSON returns the patch on one line, ready for a data field.
func (p Patch) JSON() ([]byte, error) { return compact(p) }

func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode live data: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
