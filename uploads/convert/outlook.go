package convert

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/mail"
	"sort"
	"strings"
	"time"

	"fawn/uploads/charset"
)

// Streams of an Outlook message (.msg): streams of texts are named after the property's number and type; other
// properties are rows of msgProperties.
const (
	msgProperties = "__properties_version1.0"
	msgText       = "__substg1.0_"
	msgUnicode    = "001F"
	msgNarrow     = "001E"
	msgBinary     = "0102"
)

// outlookMessage converts a message with its header, text and attachment names, including attached messages. at is the
// folder of its streams.
func outlookMessage(d *draft, c *compoundFile, at string, depth int) error {
	m := &outlook{c: c, at: at, page: "windows-1252"}
	m.properties(depth)
	level := min(1+depth, 6)
	if subject := oneLine(m.text("0037")); subject != "" {
		d.heading(level, subject)
	}
	d.gap()
	from := m.text("0C1A")
	for _, p := range []string{"5D01", "0C1F", "0065"} { // an SMTP address rather than an internal name
		if address := m.text(p); strings.Contains(address, "@") && address != from {
			from = strings.TrimSpace(from + " <" + address + ">")
			break
		}
	}
	if !strings.Contains(from, "@") {
		from = cmp.Or(m.sent(), from)
	}
	to, cc := m.recipients()
	for _, h := range []struct{ name, text string }{{"From", from}, {"To", cmp.Or(to, m.text("0E04"))},
		{"Cc", cmp.Or(cc, m.text("0E03"))}, {"Date", m.date()}} {
		if text := oneLine(h.text); text != "" {
			d.line("- " + h.name + ": " + text)
		}
	}
	if err := m.body(d); err != nil {
		return err
	}
	for _, folder := range m.attached() {
		a := &outlook{c: c, at: at + folder + "/", page: m.page}
		inner := a.at + msgText + "3701000D/"
		if c.streams[inner+msgProperties] != nil && depth < 4 {
			d.block("---")
			if err := outlookMessage(d, c, inner, depth+1); err != nil {
				return err
			}
			continue
		}
		name := a.text("3707")
		if name == "" {
			name = a.text("3704")
		}
		if name = oneLine(name); name != "" {
			d.block("[attachment: " + name + "]")
		}
	}
	return nil
}

// outlook is a message, or something attached to it.
type outlook struct {
	c     *compoundFile
	at    string
	page  string // code page of non-Unicode texts
	times map[uint16]time.Time
}

// properties reads the properties without a stream. A top-level message has a longer header than an embedded one.
func (m *outlook) properties(depth int) {
	b := m.c.streams[m.at+msgProperties]
	begin := 32
	if depth > 0 {
		begin = 24
	}
	m.times = map[uint16]time.Time{}
	for i := begin; i+16 <= len(b); i += 16 {
		tag, value := u32(b, i), b[i+8:i+16]
		switch tag & 0xFFFF {
		case 0x40:
			ticks := binary.LittleEndian.Uint64(value)
			const until1970 = 116444736000000000
			if ticks > until1970 && ticks < 1<<62 {
				m.times[uint16(tag>>16)] = time.Unix(0, int64(ticks-until1970)*100).UTC()
			}
		case 3:
			if id := tag >> 16; id == 0x3FFD || id == 0x3FDE && m.page == "windows-1252" {
				if name := charset.CodePage(int(u32(value, 0))); name != "" {
					m.page = name
				}
			}
		}
	}
}

func (m *outlook) date() string {
	for _, id := range []uint16{0x0039, 0x0E06, 0x3007} {
		if t, ok := m.times[id]; ok && t.Year() > 1980 {
			return t.Format("Mon, 2 Jan 2006 15:04:05 -0700")
		}
	}
	return ""
}

// sent returns the sender as the head with which the message was sent has it, "" if that isn't kept.
func (m *outlook) sent() string {
	head, err := mail.ReadMessage(strings.NewReader(strings.TrimSpace(m.text("007D")) + "\r\n\r\n"))
	if err != nil {
		return ""
	}
	from, err := new(mail.AddressParser).Parse(head.Header.Get("From"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(from.Name + " <" + from.Address + ">")
}

// recipients lists a message's recipients with addresses, "" without any.
func (m *outlook) recipients() (to, cc string) {
	lists := map[uint32][]string{}
	addressed := false
	for i := range 1000 {
		r := &outlook{c: m.c, at: m.at + fmt.Sprintf("__recip_version1.0_#%08X/", i), page: m.page}
		b := m.c.streams[r.at+msgProperties]
		if b == nil {
			break
		}
		kind := uint32(1)
		for at := 8; at+16 <= len(b); at += 16 {
			if u32(b, at) == 0x0C150003 {
				kind = u32(b, at+8) & 3
			}
		}
		who := oneLine(r.text("3001"))
		for _, p := range []string{"39FE", "3003"} {
			if address := oneLine(r.text(p)); strings.Contains(address, "@") {
				addressed = true
				if who != address && !strings.Contains(who, "<"+address+">") {
					who = strings.TrimSpace(who + " <" + address + ">")
				}
				break
			}
		}
		if who != "" {
			lists[kind] = append(lists[kind], who)
		}
	}
	if !addressed {
		return "", ""
	}
	return strings.Join(lists[1], "; "), strings.Join(lists[2], "; ")
}

// text returns a property that is one.
func (m *outlook) text(id string) string {
	if b := m.c.streams[m.at+msgText+id+msgUnicode]; b != nil {
		return utf16le(b)
	}
	if b := m.c.streams[m.at+msgText+id+msgNarrow]; b != nil {
		if t, err := charset.As(m.page, b); err == nil {
			return strings.TrimRight(t.String, "\x00")
		}
	}
	return ""
}

// body writes the text of a message: its plain text, otherwise its page or its rich text.
func (m *outlook) body(d *draft) error {
	if text := strings.TrimSpace(m.text("1000")); text != "" {
		d.block(strings.ReplaceAll(text, "\r\n", "\n"))
		return nil
	}
	page := m.c.streams[m.at+msgText+"1013"+msgBinary]
	if page == nil {
		page = []byte(m.text("1013"))
	}
	if len(page) > 0 {
		doc, err := (&draft{}).parsePage(page)
		if err != nil {
			return err
		}
		text, err := markdownOf(doc)
		d.block(text)
		return err
	}
	if packed := m.c.streams[m.at+msgText+"1009"+msgBinary]; packed != nil {
		rich, err := unpackRich(packed)
		if err != nil {
			d.lack(Damaged)
			return nil
		}
		return richText(d, rich)
	}
	return nil
}

// attached returns the folders of the attachments in order.
func (m *outlook) attached() []string {
	found := map[string]bool{}
	for name := range m.c.streams {
		if rest, ok := strings.CutPrefix(name, m.at); ok && strings.HasPrefix(rest, "__attach_version1.0_#") {
			folder, _, _ := strings.Cut(rest, "/")
			found[folder] = true
		}
	}
	var list []string
	for folder := range found {
		list = append(list, folder)
	}
	sort.Strings(list)
	return list[:min(len(list), 1000)]
}

// richDictionary is the predefined dictionary of compressed rich text.
const richDictionary = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript ` +
	`\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` + "\r\n" +
	`\par \pard\plain\f0\fs20\b\i\u\tab\tx`

// unpackRich unpacks rich text as messages have it.
func unpackRich(b []byte) ([]byte, error) {
	const stored, packed = 0x414C454D, 0x75465A4C
	size := int(u32(b, 4))
	if len(b) < 16 || size > maxPart {
		return nil, fmt.Errorf("%w: rich text of %d bytes", Damaged, size)
	}
	switch kind := u32(b, 8); kind {
	case stored:
		return part(b, 16, size), nil
	case packed:
	default:
		return nil, fmt.Errorf("%w: rich text of kind %x", Damaged, kind)
	}
	var ring [4096]byte
	at := copy(ring[:], richDictionary)
	var out []byte
	put := func(c byte) {
		out = append(out, c)
		ring[at%4096] = c
		at++
	}
	for b = b[16:]; len(b) > 0 && len(out) < size; {
		flags := b[0]
		b = b[1:]
		for i := 0; i < 8 && len(b) > 0 && len(out) < size; i++ {
			if flags>>i&1 == 0 {
				put(b[0])
				b = b[1:]
				continue
			}
			if len(b) < 2 {
				return out, nil
			}
			n := int(b[0])<<8 | int(b[1])
			b = b[2:]
			from, length := n>>4, n&15+2
			if from == at%4096 { // the end
				return out, nil
			}
			for range length {
				put(ring[from%4096])
				from++
			}
		}
	}
	return out, nil
}
