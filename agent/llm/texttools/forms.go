package texttools

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fawn/agent"
)

// writtenCall is a parsed call: its name and its arguments as JSON, or verbatim if invalid.
type writtenCall struct{ name, args string }

// shapes are the marks inside of calls.
var shapes = sync.OnceValue(func() (s struct{ begin, end, sep, invoke, param, function, parameter, code *regexp.Regexp }) {
	const gap = `(?:▁|_| |\\_)`
	s.begin = regexp.MustCompile(`<[｜|]tool` + gap + `calls?(?:` + gap + `section)?` + gap + `begin[｜|]>|<\|tool_call:begin\|>`)
	s.end = regexp.MustCompile(`<[｜|]tool` + gap + `calls?(?:` + gap + `section)?` + gap + `end[｜|]>|<\|tool_call:end\|>`)
	s.sep = regexp.MustCompile(`<[｜|]tool` + gap + `sep[｜|]>|<\|tool_call_argument_begin\|>|<\|tool_call:args\|>`)
	s.invoke = regexp.MustCompile(`<(?:[\w-]+:|｜DSML｜)?(?:invoke|function_call|tool_call|function|tool)\s+name\s*=\s*["']([^"'\n]{1,128})["'][^>\n]*>`)
	s.param = regexp.MustCompile(`<((?:[\w-]+:|｜DSML｜)?(?:parameter|arg|param))\s+name\s*=\s*["']([^"'\n]{1,128})["']([^>\n]*)>`)
	s.function = regexp.MustCompile(`<function=["']?([^>"'\n]{1,128})["']?>`)
	s.parameter = regexp.MustCompile(`<(parameter)=["']?([^>"'\n]{1,128})["']?()>`)
	s.code = regexp.MustCompile(`^[\[\s]*([A-Za-z_][\w.]{0,127})\s*\(`)
	return s
})

// block parses the text between the marks of a call; open is the opening mark. It returns nil if nothing looks like a
// call. whole is false for truncated text.
func (r *reader) block(open, body string, whole bool) []writtenCall {
	s := shapes()
	body = strings.TrimSpace(body)
	switch {
	case strings.HasPrefix(open, "<xai:"):
		body = open + " " + body
	case open == "<function=":
		body = open + body
	}
	if strings.HasPrefix(body, callOpen) && open != callOpen { // a frame around frames
		body = strings.NewReplacer(callOpen, "\n", callClose, "\n").Replace(body)
		body = strings.TrimSpace(body)
	}
	if s.begin.MatchString(body) || s.sep.MatchString(body) {
		return r.sections(body, whole)
	}
	if open == asked {
		name, args, _ := strings.Cut(body, "\n")
		if list := objects(strings.TrimSpace(args)); len(list) > 0 {
			args = list[0]
		}
		return []writtenCall{{name, args}}
	}
	if open == "[TOOL_CALLS]" {
		return r.mistral(body, whole)
	}
	if at := s.invoke.FindAllStringSubmatchIndex(body, -1); at != nil {
		return r.tagged(body, at, s.param, whole)
	}
	if at := s.function.FindAllStringSubmatchIndex(body, -1); at != nil {
		return r.tagged(body, at, s.parameter, whole)
	}
	if strings.Contains(body, "<arg_key>") {
		return r.pairs(body)
	}
	if rest, ok := strings.CutPrefix(body, "<|plugin|>"); ok {
		body = strings.TrimSpace(rest)
	}
	if rest, ok := strings.CutPrefix(body, "call:"); ok && strings.Contains(rest, "{") { // FunctionGemma
		name, args, _ := strings.Cut(rest, "{")
		return []writtenCall{{name, escaped("{" + args)}}
	}
	if s.code.MatchString(body) {
		if out := r.python(body); out != nil {
			return out
		}
	}
	if body = unfenced(body); s.code.MatchString(body) {
		if out := r.python(body); out != nil {
			return out
		}
	}
	if !strings.ContainsAny(body, "{[") { // a tool without arguments
		if _, known := r.tools[r.named(body)]; known && !strings.ContainsAny(body, " \n") {
			return []writtenCall{{body, "{}"}}
		}
		return nil
	}
	return r.objects(body, whole)
}

// objects parses calls in JSON: an object, a list of them, or one per line.
func (r *reader) objects(body string, whole bool) []writtenCall {
	var out []writtenCall
	for _, part := range objects(body) {
		name, args, ok := r.split(part, whole)
		if !ok {
			return nil
		}
		out = append(out, writtenCall{name, args})
	}
	return out
}

// sections parses calls with separate marks around them and between name and arguments: those of Kimi, DeepSeek and
// Solar.
func (r *reader) sections(body string, whole bool) []writtenCall {
	s := shapes()
	var out []writtenCall
	for _, part := range s.begin.Split(body, -1) {
		if part = strings.TrimSpace(s.end.Split(part, 2)[0]); part == "" {
			continue
		}
		at := s.sep.FindStringIndex(part)
		if at == nil {
			more := r.objects(unfenced(part), whole)
			if more == nil {
				return nil
			}
			out = append(out, more...)
			continue
		}
		name, args := strings.TrimSpace(part[:at[0]]), strings.TrimSpace(part[at[1]:])
		if _, after, ok := strings.Cut(name, "<|tool_call:name|>"); ok {
			name = after
		}
		if name == "function" { // the kind of the call
			name, args, _ = strings.Cut(args, "\n")
		}
		if name == "" {
			return nil
		}
		out = append(out, writtenCall{name, unfenced(strings.TrimSpace(args))})
	}
	return out
}

// mistral parses a list of objects, or a name with its arguments after a mark or brace.
func (r *reader) mistral(body string, whole bool) []writtenCall {
	var out []writtenCall
	for part := range strings.SplitSeq(body, "[TOOL_CALLS]") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		if part[0] == '[' || part[0] == '{' {
			more := r.objects(part, whole)
			if more == nil {
				return nil
			}
			out = append(out, more...)
			continue
		}
		at := strings.IndexAny(part, "[{")
		if at < 0 {
			at = len(part)
		}
		name, args := part[:at], part[at:]
		if _, after, ok := strings.Cut(args, "[ARGS]"); ok {
			args = after
		}
		if strings.ContainsAny(strings.TrimSpace(name), " \n") || name == "" || args == "" {
			return nil
		}
		out = append(out, writtenCall{name, strings.TrimSpace(args)})
	}
	return out
}

// tagged parses calls written as elements, with their parameters as elements inside, or an object.
func (r *reader) tagged(body string, calls [][]int, params *regexp.Regexp, whole bool) []writtenCall {
	var out []writtenCall
	for i, c := range calls {
		until := len(body)
		if i+1 < len(calls) {
			until = calls[i+1][0]
		}
		name, inside := body[c[2]:c[3]], body[c[1]:until]
		at := params.FindAllStringSubmatchIndex(inside, -1)
		if at == nil {
			inside, _, _ = strings.Cut(inside, "</")
			if inside = unfenced(strings.TrimSpace(inside)); inside == "" {
				inside = "{}"
			}
			out = append(out, writtenCall{name, inside})
			continue
		}
		var args arguments
		for k, p := range at {
			end := len(inside)
			if k+1 < len(at) {
				end = at[k+1][0]
			}
			value, tag := inside[p[1]:end], "</"+inside[p[2]:p[3]]+">"
			if cut := strings.LastIndex(value, tag); cut >= 0 {
				value = value[:cut]
			} else if cut := strings.LastIndex(value, "</"); cut >= 0 && whole {
				value = value[:cut]
			} else if !whole {
				return append(out, writtenCall{name, "{" + value}) // truncated: don't invent a value
			}
			value = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(value, "\r"), "\n"), "\n")
			args.add(inside[p[4]:p[5]], r.typed(name, inside[p[4]:p[5]], value, inside[p[6]:p[7]]))
		}
		out = append(out, writtenCall{name, args.String()})
	}
	return out
}

// pairs parses calls of GLM: a name, then alternating keys and values.
func (r *reader) pairs(body string) []writtenCall {
	name, rest, _ := strings.Cut(body, "<arg_key>")
	name = strings.TrimSpace(name)
	if name == "" || strings.ContainsAny(name, " \n") {
		return nil
	}
	var args arguments
	for pair := range strings.SplitSeq(rest, "<arg_key>") {
		key, value, _ := strings.Cut(pair, "</arg_key>")
		_, value, _ = strings.Cut(value, "<arg_value>")
		value = strings.TrimSuffix(strings.TrimRight(value, " \t\r\n"), "</arg_value>")
		args.add(strings.TrimSpace(key), r.typed(name, strings.TrimSpace(key), value, ""))
	}
	return []writtenCall{{name, args.String()}}
}

// python parses calls as code: a list of them, or some separated by semicolons.
func (r *reader) python(body string) []writtenCall {
	body = strings.TrimSpace(body)
	if strings.HasPrefix(body, "[") && strings.HasSuffix(body, "]") {
		body = body[1 : len(body)-1]
	}
	var out []writtenCall
	for body = strings.Trim(body, " \t\r\n,;"); body != ""; body = strings.Trim(body, " \t\r\n,;") {
		m := shapes().code.FindStringSubmatchIndex(body)
		if m == nil {
			return nil
		}
		name := strings.TrimSuffix(body[m[2]:m[3]], ".call")
		if inner, ok := strings.CutPrefix(body, "print("); ok { // in Gemini's format
			body = strings.TrimSuffix(inner, ")")
			continue
		}
		var args arguments
		rest := body[m[1]:]
		for {
			part, end := argument(rest)
			if part = strings.TrimSpace(part); part != "" {
				key, value, ok := strings.Cut(part, "=")
				if !ok || strings.ContainsAny(strings.TrimSpace(key), " \"'([{") {
					return nil
				}
				raw, err := agent.Mend(`{"v":`+value+`}`, false)
				if err != nil {
					return nil
				}
				args.add(strings.TrimSpace(key), raw[len(`{"v":`):len(raw)-1])
			}
			if end < 0 {
				return nil
			}
			rest = rest[end+1:]
			if len(body)-len(rest) > 0 && body[len(body)-len(rest)-1] == ')' {
				break
			}
		}
		out, body = append(out, writtenCall{name, args.String()}), rest
	}
	return out
}

// argument returns the text before the next comma or closing bracket of a call, and its position.
func argument(s string) (string, int) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case quote != 0:
			if b == '\\' {
				i++
			} else if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '(' || b == '[' || b == '{':
			depth++
		case depth == 0 && (b == ',' || b == ')'):
			return s[:i], i
		case b == ')' || b == ']' || b == '}':
			depth--
		}
	}
	return s, -1
}

// escaped reads values between FunctionGemma's own quotes.
func escaped(args string) string {
	parts := strings.Split(args, "<escape>")
	for i := 1; i < len(parts); i += 2 {
		b, err := json.Marshal(parts[i])
		if err != nil { // a string always encodes
			return args
		}
		parts[i] = string(b)
	}
	return strings.Join(parts, "")
}

// typed returns the JSON of an argument written as text, with its schema's type.
func (r *reader) typed(tool, key, value, attributes string) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil { // a string always encodes
		return json.RawMessage(`""`)
	}
	asText := strings.Contains(attributes, `string="true"`)
	types := r.types(r.named(tool), key)
	switch {
	case asText, slices.Contains(types, "string") && !strings.Contains(attributes, `string="false"`):
		return text
	}
	trimmed := strings.TrimSpace(value)
	if raw, err := agent.Mend(`{"v":`+trimmed+`}`, false); err == nil && trimmed != "" {
		v := json.RawMessage(raw[len(`{"v":`) : len(raw)-1])
		known := len(types) > 0 || strings.Contains(attributes, `string="false"`)
		if known || v[0] == '{' || v[0] == '[' {
			return v
		}
	}
	if low := strings.ToLower(trimmed); slices.Contains(types, "boolean") && (low == "true" || low == "false") {
		return json.RawMessage(low)
	}
	return text
}

// types returns the types a tool's schema allows for an argument; none if unspecified.
func (r *reader) types(tool, key string) []string {
	t := r.tools[tool]
	if t == nil {
		return nil
	}
	var schema struct {
		Properties map[string]struct {
			Type  any `json:"type"`
			AnyOf []struct {
				Type any `json:"type"`
			} `json:"anyOf"`
			Enum []any `json:"enum"`
		} `json:"properties"`
	}
	if json.Unmarshal(t.Schema, &schema) != nil {
		return nil
	}
	var out []string
	add := func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, one := range v {
				if s, ok := one.(string); ok {
					out = append(out, s)
				}
			}
		}
	}
	p := schema.Properties[key]
	add(p.Type)
	for _, one := range p.AnyOf {
		add(one.Type)
	}
	if len(out) == 0 && len(p.Enum) > 0 {
		if _, ok := p.Enum[0].(string); ok {
			out = append(out, "string")
		}
	}
	return out
}

// arguments is an object in the order in which its fields were written.
type arguments struct{ b bytes.Buffer }

func (a *arguments) add(key string, value json.RawMessage) {
	name, err := json.Marshal(key)
	if err != nil { // a string always encodes
		return
	}
	if a.b.Len() > 0 {
		a.b.WriteByte(',')
	}
	a.b.Write(name)
	a.b.WriteByte(':')
	a.b.Write(value)
}

func (a *arguments) String() string { return "{" + a.b.String() + "}" }
