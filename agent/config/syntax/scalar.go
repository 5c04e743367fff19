package syntax

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// scalar decodes one word into a text, switch, number, duration or size.
func (d *Decoder) scalar(n *Node, v reflect.Value, path string, tag reflect.StructTag) {
	if v.Type() == durationType {
		d.duration(n, v, path, tag)
		return
	}
	switch v.Kind() {
	case reflect.String:
		text := n.Text
		if options := tag.Get("enum"); options != "" && v.Type() != secretType {
			text = strings.ToLower(text)
			if !OneOf(text, options) {
				d.Fail(n, "%s must be one of %s, not %s", path, strings.ReplaceAll(options, "|", ", "), shown(n, path))
				return
			}
		}
		v.SetString(text)
	case reflect.Bool:
		b, ok := ParseBool(n)
		if !ok {
			d.Fail(n, "%s must be true or false, not %s", path, shown(n, path))
			return
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		i, ok := parseInt(n)
		if !ok && tag.Get("unit") == "bytes" {
			i, ok = parseSize(n.Text)
		}
		if !ok {
			want := "a whole number"
			if tag.Get("unit") == "bytes" {
				want = "a number of bytes, such as 1048576 or 1MiB"
			}
			d.Fail(n, "%s must be %s, not %s", path, want, shown(n, path))
			return
		}
		if d.within(n, float64(i), path, tag) {
			v.SetInt(i)
		}
	case reflect.Float64:
		f, ok := parseFloat(n)
		if !ok {
			d.Fail(n, "%s must be a number, not %s", path, shown(n, path))
			return
		}
		if d.within(n, f, path, tag) {
			v.SetFloat(f)
		}
	default:
		d.Fail(n, "%s cannot be read", path)
	}
}

func (d *Decoder) duration(n *Node, v reflect.Value, path string, tag reflect.StructTag) {
	unit, name := time.Second, "seconds"
	if tag.Get("unit") == "ms" {
		unit, name = time.Millisecond, "milliseconds"
	}
	amount, ok := parseFloat(n)
	if !ok {
		text := strings.ReplaceAll(n.Text, " ", "")
		if days, found := strings.CutSuffix(text, "d"); found {
			if x, err := strconv.ParseFloat(days, 64); err == nil && !math.IsNaN(x) {
				amount, ok = x*float64(24*time.Hour)/float64(unit), true
			}
		} else if span, err := time.ParseDuration(text); err == nil {
			amount, ok = float64(span)/float64(unit), true
		}
	}
	if ok && math.Abs(amount)*float64(unit) >= math.MaxInt64 {
		ok = false
	}
	if !ok {
		d.Fail(n, "%s must be a number of %s, or a time such as 30s or 10m, not %s", path, name, shown(n, path))
		return
	}
	if d.within(n, amount, path, tag) {
		v.SetInt(int64(math.Round(amount * float64(unit))))
	}
}

// within checks the bounds min and max of a tag.
func (d *Decoder) within(n *Node, x float64, path string, tag reflect.StructTag) bool {
	low, errLow := strconv.ParseFloat(tag.Get("min"), 64)
	high, errHigh := strconv.ParseFloat(tag.Get("max"), 64)
	hasLow, hasHigh := errLow == nil, errHigh == nil
	switch {
	case hasLow && hasHigh && (x < low || x > high):
		d.Fail(n, "%s must be from %s to %s, not %s", path, tag.Get("min"), tag.Get("max"), shown(n, path))
	case hasLow && x < low:
		d.Fail(n, "%s must be at least %s, not %s", path, tag.Get("min"), shown(n, path))
	case hasHigh && x > high:
		d.Fail(n, "%s must be at most %s, not %s", path, tag.Get("max"), shown(n, path))
	default:
		return true
	}
	return false
}

// shown quotes a value for a message. Values from variables and of secret keys are not repeated.
func shown(n *Node, path string) string {
	if n.Variable != "" {
		return "the value of " + n.Variable
	}
	if SecretKey(path[strings.LastIndexByte(path, '.')+1:]) {
		return "this"
	}
	text := n.Text
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "…"
	}
	if n.Tag == "!!str" {
		return strconv.Quote(text)
	}
	return text
}

// OneOf reports whether a word is among options, separated by |.
func OneOf(word, options string) bool {
	for option := range strings.SplitSeq(options, "|") {
		if option == word {
			return true
		}
	}
	return false
}

// ParseBool also takes the words of YAML 1.1, which older files use.
func ParseBool(n *Node) (value, ok bool) {
	switch strings.ToLower(n.Text) {
	case "true", "yes", "on", "y":
		return true, true
	case "false", "no", "off", "n":
		return false, true
	case "1", "0":
		return n.Text == "1", n.Tag == TagVariable
	}
	return false, false
}

func parseInt(n *Node) (int64, bool) {
	text := strings.TrimSpace(n.Text)
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		return i, true
	}
	f, ok := parseFloat(n)
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func parseFloat(n *Node) (float64, bool) {
	text := strings.TrimSpace(n.Text)
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// parseSize reads bytes with a unit: KB and MB count by thousands, KiB and MiB by 1,024.
func parseSize(text string) (int64, bool) {
	text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
	units := [...]struct {
		suffix string
		factor float64
	}{
		{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
		{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
		{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40}, {"b", 1},
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(f) || f < 0 || f*u.factor >= 1<<62 {
			return 0, false
		}
		return int64(f * u.factor), true
	}
	return 0, false
}

// plainText converts a scalar to the type it has in the file. Plain yes, no, on and off are booleans, as for
// DeerFlow's parser.
func plainText(n *Node) any {
	switch n.Tag {
	case "!!bool", tagWord:
		if b, ok := ParseBool(n); ok {
			return b
		}
	case "!!int":
		if i, ok := parseInt(n); ok {
			return int(i)
		}
		if f, ok := parseFloat(n); ok {
			return f
		}
	case "!!float":
		if f, ok := parseFloat(n); ok {
			return f
		}
	}
	return n.Text
}

// tagWord marks an unquoted yes, no, on or off.
const tagWord = "!word"

// TagVariable marks text from a variable: it has no type and is parsed as its key requires.
const TagVariable = "!variable"

// Reference returns NAME when the whole text is $NAME or ${NAME}.
func Reference(text string) (string, bool) {
	name, ok := strings.CutPrefix(text, "$")
	if !ok {
		return "", false
	}
	if inner, braced := strings.CutPrefix(name, "{"); braced {
		if name, ok = strings.CutSuffix(inner, "}"); !ok {
			return "", false
		}
	}
	return name, IsVariable(name)
}

// Default returns NAME and the text after :- if the whole text is ${NAME:-text}.
func Default(text string) (name, otherwise string, ok bool) {
	inner, begins := strings.CutPrefix(text, "${")
	inner, ends := strings.CutSuffix(inner, "}")
	if !begins || !ends {
		return "", "", false
	}
	name, otherwise, ok = strings.Cut(inner, ":-")
	return name, otherwise, ok && IsVariable(name) && !strings.Contains(otherwise, "${")
}

// IsVariable reports whether a text can be the name of a variable.
func IsVariable(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
