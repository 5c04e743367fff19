package memory

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Said is a message of a conversation: the words of a person, or a final answer.
type Said struct {
	ID    string `json:"id"`
	Human bool   `json:"human,omitempty"`
	Text  string `json:"text"`
}

// Limits of a lesson, in bytes.
const (
	maxSaid   = 8 << 10  // limit per message; the beginning of a longer one counts
	maxLesson = 48 << 10 // limit of all messages; the newest count
)

// blocks match lists of uploads added by clients.
var blocks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<(uploaded_files|current_uploads)>.*?(</(uploaded_files|current_uploads)>|$)`)
})

// Filter keeps the messages worth learning from: it drops lists of uploads, messages that are nothing else, mere
// acknowledgements, and the answers to these. It returns nothing if one of the two sides is silent.
func Filter(said []Said) []Said {
	var out []Said
	var people, answers, size int
	skip := false
	for _, m := range said {
		if m.Human {
			m.Text = strings.TrimSpace(blocks().ReplaceAllString(m.Text, ""))
			skip = m.Text == "" || acknowledges(m.Text)
		}
		if skip || strings.TrimSpace(m.Text) == "" {
			continue
		}
		m.Text = clipped(m.Text, maxSaid)
		out = append(out, m)
	}
	for i := len(out) - 1; i >= 0; i-- {
		if size += len(out[i].Text); size > maxLesson {
			out = out[i+1:]
			break
		}
	}
	for _, m := range out {
		if m.Human {
			people++
		} else {
			answers++
		}
	}
	if people == 0 || answers == 0 {
		return nil
	}
	return out
}

// acknowledges reports whether a message only confirms the previous one.
func acknowledges(text string) bool {
	if len(text) > 64 {
		return false
	}
	text = strings.ToLower(strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsPunct(r) || unicode.IsSymbol(r) || unicode.IsSpace(r)
	}), " "))
	switch text {
	case "", "ok", "okay", "k", "thanks", "thank you", "thanks a lot", "thank you very much", "thx", "ty", "got it",
		"cheers", "great", "nice", "cool",
		"yes", "yep", "sure", "fine", "good", "understood", "perfect thanks", "ok thanks", "okay thanks",
		"great thanks", "好", "好的", "好吧", "行", "可以", "谢谢", "谢谢你", "多谢", "感谢", "嗯", "嗯嗯", "对", "是", "是的", "对的", "收到",
		"明白", "明白了", "知道了", "了解", "没问题", "好的 谢谢", "好 谢谢":
		return true
	}
	return false
}

func clipped(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
