package memory

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// signal is a hint in a person's words for the extraction.
type signal struct {
	name, hint string
	is         *regexp.Regexp
}

// signalMessages limits the last messages searched for signals.
const signalMessages = 6

var signals = sync.OnceValue(func() []signal {
	return []signal{
		{"correction", "The person corrects the agent: record what is right with at least 0.95, and what was wrong as sourceError.",
			regexp.MustCompile(`(?i)that(?:'|’)?s (?:wrong|incorrect|not (?:right|true|what i))|\byou misunderstood\b|\btry again\b|\bredo\b|\bno, i (?:said|meant)\b|\bnot what i (?:asked|meant)\b|不对|不是这样|你理解错|理解错了|搞错了|重试|重新来|换一种|改用`)},
		{"reinforcement", "The person confirms a way of working: it may be a lasting preference.",
			regexp.MustCompile(`(?i)\byes,? exactly\b|\bperfect\b|that(?:'|’)?s (?:right|exactly)|\bkeep doing (?:that|this|it)\b|\bjust like that\b|就是这样|完全正确|没错|继续这样|很好`)},
		{"preference", "The person states a preference.",
			regexp.MustCompile(`(?i)\bi(?:'d)? (?:\w+ )?(?:prefer|like|love|hate|dislike|want you to)\b|\bplease (?:always|never)\b|\bfrom now on\b|我(?:更|比较|很|最)?(?:喜欢|偏好|习惯|讨厌|不喜欢)|以后(?:请|都|别|不要)|今后`)},
		{"identity", "The person says who they are.",
			regexp.MustCompile(`(?i)\bmy name is\b|\bi(?:'m| am) (?:an?|the)\b|\bi work (?:at|for|as|in)\b|\bi live in\b|我(?:叫|是一|的名字|在.{1,12}(?:工作|上班)|住在)`)},
		{"goal", "The person names an aim.",
			regexp.MustCompile(`(?i)\bmy goal is\b|\bi(?:'m| am) (?:trying|planning|aiming) to\b|\bi want to (?:learn|become|build)\b|我的目标|我(?:打算|计划|准备|想要)`)},
		{"decision", "The person decides something.",
			regexp.MustCompile(`(?i)\b(?:we|i)(?:'ve| have)? (?:decided|chose|settled on|agreed)\b|\blet(?:'|’)?s go with\b|我们?(?:决定|选择了|确定)|就用`)},
	}
})

// hints returns the signals in people's last messages, in a fixed order.
func hints(said []Said) []string {
	var list []string
	for _, sig := range signals() {
		for _, m := range said[max(0, len(said)-signalMessages):] {
			if m.Human && sig.is.MatchString(m.Text) {
				list = append(list, sig.hint)
				break
			}
		}
	}
	return list
}

// Sentence beginnings that ask to remember the rest.
var asks = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)^(?:and |also |so |ok,? |hi,? |hello,? |hey,? )?(?:please |can you |could you |would you )?(?:please )?(?:always )?(?:remember|keep in mind|don(?:'|’)?t forget)(?: for (?:the future|later|next time))?(?: that |: ?|,? (?:my |i |i'm |i’m |we |our ))`),
		regexp.MustCompile(`^(?:另外|还有|嗯|你好|那)?[，, ]?(?:请|请你|麻烦|麻烦你|帮我|你要|你得|要)?(?:务必|一定|永远|一直)?(?:记住|记得|记一下|记下来|别忘了|不要忘记)(?:一下|一点)?[：:，, ]?`),
	}
})

// explicit returns the facts that people explicitly ask to remember, the only ones learned without a model.
func explicit(said []Said) []newFact {
	var list []newFact
	for _, m := range said {
		if !m.Human {
			continue
		}
		for _, sentence := range sentences(m.Text) {
			if content := wish(sentence); content != "" && len(content) <= MaxContent {
				list = append(list, newFact{Content: content, Category: category(content), Confidence: 0.95,
					Scope: "user", Durability: "durable", Authority: "descriptive", message: m.ID})
			}
		}
	}
	return list
}

// Wishes returns the explicit requests to remember in a text, even if memory is off. only reports whether it contains
// nothing else.
func Wishes(text string) (wishes []string, only bool) {
	only = true
	for _, sentence := range sentences(text) {
		if w := wish(sentence); w != "" && len(w) <= MaxContent {
			wishes = append(wishes, w)
		} else {
			only = false
		}
	}
	return wishes, only && len(wishes) > 0
}

// wish returns the fact a sentence asks to remember, or "".
func wish(sentence string) string {
	end, _ := utf8.DecodeLastRuneInString(sentence)
	if end == '?' || end == '？' || strings.HasSuffix(sentence, "吗") || strings.HasSuffix(sentence, "了没") {
		return ""
	}
	for i, ask := range asks() {
		at := ask.FindStringIndex(sentence)
		if at == nil {
			continue
		}
		head, rest := sentence[:at[1]], sentence[at[1]:]
		if own := ownWord(head); i == 0 && own != "" { // "remember my …": the word belongs to the fact
			rest = own + " " + rest
		}
		rest = strings.TrimRight(clean(rest), ".。!！;； ")
		if i == 1 && (strings.HasPrefix(rest, "了") || utf8.RuneCountInString(rest) < 3) {
			return ""
		}
		if len(rest) < 4 {
			return ""
		}
		return rest
	}
	return ""
}

// ownWord returns the pronoun that ends a wish's opening.
func ownWord(head string) string {
	words := strings.Fields(head)
	if len(words) == 0 {
		return ""
	}
	last := words[len(words)-1]
	if slices.Contains([]string{"my", "i", "i'm", "i’m", "we", "our"}, strings.ToLower(last)) {
		return last
	}
	return ""
}

// sentences returns the parts of a text up to a line's end or a full stop.
func sentences(text string) []string {
	var list []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	for line := range strings.Lines(text) {
		from := 0
		for i, r := range line {
			next := i + utf8.RuneLen(r)
			stop := r == '。' || r == '！' || r == '？' ||
				(r == '.' || r == '!' || r == '?') && next < len(line) && (line[next] == ' ' || line[next] == '\n')
			if stop && next <= len(line) {
				add(line[from:next])
				from = next
			}
		}
		add(line[from:])
	}
	return list
}

// category returns a guess at the kind of a fact from its words.
func category(content string) string {
	for _, sig := range signals() {
		switch sig.name {
		case "preference", "goal":
			if sig.is.MatchString(content) {
				return sig.name
			}
		}
	}
	return CategoryDefault
}
