package convert

import "strings"

// Records of a presentation.
const (
	pptSlide     = 0x03EE
	pptNotes     = 0x03F0
	pptNotesAtom = 0x03F1
	pptPersist   = 0x03F3
	pptKind      = 0x0F9F
	pptChars     = 0x0FA0
	pptBytes     = 0x0FA8
	pptList      = 0x0FF0
	pptEdit      = 0x0FF5
)

// pptLocked is in the stream Current User of a presentation with a password.
const pptLocked = 0xF3D1C4DF

// pptRecord is one record of a presentation; a container holds others.
type pptRecord struct {
	kind, instance int
	container      bool
	body           []byte
}

// pptWalk calls do for each record of b and descends into those for which it returns true.
func pptWalk(b []byte, depth int, do func(r pptRecord) bool) {
	for len(b) >= 8 && depth < 32 {
		n := int(u32(b, 4))
		r := pptRecord{kind: u16(b, 2), instance: u16(b, 0) >> 4, container: b[0]&15 == 15, body: part(b, 8, n)}
		if do(r) && r.container {
			pptWalk(r.body, depth+1, do)
		}
		b = part(b, 8+n, len(b))
	}
}

// oldSlides reads a presentation of PowerPoint 97 to 2003: slides in the order of the show.
func oldSlides(d *draft, c *compoundFile) error {
	b, user := c.streams["PowerPoint Document"], c.streams["Current User"]
	if u32(user, 12) == pptLocked {
		return Encrypted
	}
	places, document := pptPlaces(b, int(u32(user, 16)))
	at := func(id uint32, kind int) (body []byte) {
		pptWalk(part(b, places[id], 8+int(u32(b, places[id]+4))), 0, func(r pptRecord) bool {
			if r.kind == kind {
				body = r.body
			}
			return false
		})
		return body
	}
	type slide struct {
		id, place uint32
		texts     []pptText
	}
	var show, notes []slide
	pptWalk(part(b, places[document], len(b)), 0, func(r pptRecord) bool {
		if r.kind != pptList || r.instance == 1 || len(show)+len(notes) > maxParts {
			return r.kind == 0x03E8
		}
		var list []slide
		var here pptTexts
		pptWalk(r.body, 0, func(r pptRecord) bool {
			if r.kind == pptPersist {
				if n := len(list); n > 0 {
					list[n-1].texts = here.all
				}
				here = pptTexts{}
				list = append(list, slide{id: u32(r.body, 12), place: u32(r.body, 0)})
			}
			here.take(r)
			return false
		})
		if n := len(list); n > 0 {
			list[n-1].texts = here.all
		}
		if r.instance == 0 {
			show = append(show, list...)
		} else {
			notes = append(notes, list...)
		}
		return false
	})
	if len(show) == 0 {
		return Damaged
	}
	spoken := map[uint32]string{}
	for _, n := range notes {
		var of uint32
		var texts pptTexts
		pptWalk(at(n.place, pptNotes), 0, func(r pptRecord) bool {
			if r.kind == pptNotesAtom {
				of = u32(r.body, 0)
			}
			texts.take(r)
			return true
		})
		for _, t := range texts.all {
			if t.kind == 2 {
				spoken[of] = strings.TrimSpace(spoken[of] + "\n" + t.text)
			}
		}
	}
	for i, s := range show {
		if d.full() {
			d.lack(Long)
			break
		}
		d.anchor("slide", i+1)
		texts := pptTexts{all: s.texts}
		pptWalk(at(s.place, pptSlide), 0, func(r pptRecord) bool {
			texts.take(r)
			return true
		})
		for _, t := range texts.all {
			if t.kind == 0 || t.kind == 6 {
				d.heading(1, t.text)
			} else {
				d.block(t.text)
			}
		}
		if spoken[s.id] != "" {
			d.block("Notes: " + spoken[s.id])
		}
		d.step(i+1, len(show))
	}
	return nil
}

// pptText is a text with its kind: 0 and 6 are titles, 2 are notes.
type pptText struct {
	kind int
	text string
}

type pptTexts struct {
	all  []pptText
	kind int
}

func (t *pptTexts) take(r pptRecord) {
	text := ""
	switch r.kind {
	case pptKind:
		t.kind = int(u32(r.body, 0))
	case pptChars:
		text = utf16le(r.body)
	case pptBytes:
		text = narrowText(r.body)
	}
	if text = strings.TrimSpace(strings.NewReplacer("\r", "\n\n", "\v", "\n").Replace(text)); text != "" &&
		len(t.all) < maxParts {
		t.all = append(t.all, pptText{t.kind, text})
	}
}

// pptPlaces returns the offsets of the presentation's parts by number, and the document's number. Each save appends a
// list of its changes.
func pptPlaces(b []byte, edit int) (places map[uint32]int, document uint32) {
	places = map[uint32]int{}
	for n := 0; edit > 0 && n < 1000; n++ {
		if u16(b, edit+2) != pptEdit {
			break
		}
		if n == 0 {
			document = u32(b, edit+8+16)
		}
		list := int(u32(b, edit+8+12))
		body := part(b, list+8, int(u32(b, list+4)))
		for len(body) >= 4 && len(places) < maxNodes {
			first, count := u32(body, 0)&0xFFFFF, int(u32(body, 0)>>20)
			for i := range count {
				if _, known := places[first+uint32(i)]; !known && 8+4*i <= len(body) {
					places[first+uint32(i)] = int(u32(body, 4+4*i))
				}
			}
			body = part(body, 4+4*count, len(body))
		}
		next := int(u32(b, edit+8+8))
		if next >= edit {
			break
		}
		edit = next
	}
	return places, document
}
