package egress

import "strings"

// pipAddresses returns the addresses of an INI file of pip: the values of its index and link options in any section,
// which may continue in indented lines.
func pipAddresses(lines []string) []string {
	var found []string
	wanted := false
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' {
			if wanted {
				found = append(found, strings.Fields(text)...)
			}
			continue
		}
		wanted = false
		i := strings.IndexAny(text, "=:")
		if text[0] == '[' || i < 0 {
			continue
		}
		switch strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text[:i])), "_", "-") {
		case "index-url", "extra-index-url", "find-links":
			wanted = true
			found = append(found, strings.Fields(text[i+1:])...)
		}
	}
	return found
}

// npmAddresses returns the registries of an .npmrc, of all scopes. Other keys, including tokens, are
// ignored.
func npmAddresses(lines []string, env map[string]string) []string {
	var found []string
	for _, line := range lines {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		key = strings.TrimSpace(key)
		if !ok || key != "registry" && !(strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry")) {
			continue
		}
		found = append(found, expand(strings.TrimSpace(value), env))
	}
	return found
}

// expand replaces ${NAME} by variables that are set.
func expand(s string, env map[string]string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(before)
		b.WriteString(env[name])
		s = after
	}
}

// goAddresses returns the addresses in GOPROXY and GOSUMDB.
func goAddresses(proxy, sumdb string) []string {
	found := strings.FieldsFunc(proxy, func(c rune) bool { return c == ',' || c == '|' || c == ' ' })
	// A database is "name", "name+key" or "name+key address".
	switch words := strings.Fields(sumdb); {
	case len(words) > 1:
		found = append(found, words[1])
	case len(words) == 1 && words[0] != "off":
		name, _, _ := strings.Cut(words[0], "+")
		found = append(found, "https://"+name)
	}
	return found
}

// cargoAddresses returns the values of "registry" and "index" in a Cargo
// configuration's sections about sources and registries, in any of the ways in
// which TOML nests them.
func cargoAddresses(lines []string) []string {
	var found []string
	section := ""
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "[") {
			section = strings.Trim(text, "[] \t")
			continue
		}
		if path := strings.TrimLeft(section+"."+text, "."); !strings.HasPrefix(path, "source") &&
			!strings.HasPrefix(path, "registr") {
			continue
		}
		for rest := text; rest != "" && rest[0] != '#'; {
			var key, value string
			if key, value, rest = tomlString(rest); key == "registry" || key == "index" {
				found = append(found, value)
			}
		}
	}
	return found
}

// tomlString returns the next quoted value of a line with the bare key before it, and the rest.
func tomlString(line string) (key, value, rest string) {
	i := strings.IndexAny(line, `"'`)
	if i < 0 {
		return "", "", ""
	}
	value, rest, ok := strings.Cut(line[i+1:], line[i:i+1])
	if !ok {
		return "", "", ""
	}
	before, equals := strings.CutSuffix(strings.TrimRight(line[:i], " \t"), "=")
	if !equals {
		return "", value, rest
	}
	words := strings.FieldsFunc(before, func(c rune) bool { return strings.ContainsRune(" \t{,.", c) })
	if len(words) == 0 {
		return "", value, rest
	}
	return words[len(words)-1], value, rest
}

// aptAddresses returns the addresses of a one-line source list of apt.
func aptAddresses(lines []string) []string {
	var found []string
	for _, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "deb" && words[0] != "deb-src" {
			continue
		}
		options := strings.HasPrefix(words[1], "[")
		for _, word := range words[1:] {
			if !options {
				found = append(found, word)
				break
			}
			options = !strings.HasSuffix(word, "]")
		}
	}
	return found
}

// aptStanzas returns the addresses of a source list in stanza format, except disabled ones.
func aptStanzas(lines []string) []string {
	var found, stanza []string
	enabled, inURIs := true, false
	for _, line := range append(lines, "") {
		switch {
		case strings.TrimSpace(line) == "":
			if enabled {
				found = append(found, stanza...)
			}
			stanza, enabled, inURIs = nil, true, false
		case line[0] == '#':
		case line[0] == ' ' || line[0] == '\t':
			if inURIs {
				stanza = append(stanza, strings.Fields(line)...)
			}
		default:
			key, value, _ := strings.Cut(line, ":")
			key = strings.ToLower(strings.TrimSpace(key))
			inURIs = key == "uris"
			if inURIs {
				stanza = append(stanza, strings.Fields(value)...)
			}
			if key == "enabled" && strings.EqualFold(strings.TrimSpace(value), "no") {
				enabled = false
			}
		}
	}
	return found
}
