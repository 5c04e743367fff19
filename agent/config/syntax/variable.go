package syntax

import "strings"

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
