package config

import (
	"net/url"
	"os"
	"reflect"
	"strings"
)

// SecretValues returns all values that must never be shown: those of secret keys, of extensions_config.json, of .env
// files, and of variables with a secret's name.
func (s *Snapshot) SecretValues() []string {
	seen := map[string]bool{}
	var out []string
	add := func(v string) {
		if v != "" && !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	collect(reflect.ValueOf(s.File), false, add)
	collect(reflect.ValueOf(s.Extensions), false, add)
	for _, v := range s.ignored {
		collect(reflect.ValueOf(v.value), v.secret, add)
	}
	for _, m := range s.Extensions.MCPServers {
		for _, v := range parameters(m.URL) {
			add(v)
		}
	}
	for _, pair := range os.Environ() {
		if name, v, ok := strings.Cut(pair, "="); ok && SecretKey(name) {
			add(v)
		}
	}
	if s.env == nil {
		return out
	}
	for _, file := range s.env.files {
		for name, v := range file.values {
			if SecretKey(name) {
				add(v)
			}
		}
	}
	return out
}

// shortParameter is the length up to which an address parameter doesn't count as a secret.
const shortParameter = 8

// parameters returns an address's values that may be secrets, whatever their names.
func parameters(address string) (out []string) {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	for _, values := range u.Query() {
		for _, v := range values {
			if len(v) >= shortParameter {
				out = append(out, v, url.QueryEscape(v))
			}
		}
	}
	return out
}

// collect gathers secrets from a value; secret marks everything below it as one.
func collect(v reflect.Value, secret bool, add func(string)) {
	switch v.Kind() {
	case reflect.String:
		if secret || v.Type() == reflect.TypeFor[Secret]() {
			add(v.String())
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			collect(v.Elem(), secret, add)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				collect(v.Field(i), secret, add)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			collect(v.Index(i), secret, add)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			key := it.Key()
			collect(it.Value(), secret || key.Kind() == reflect.String && SecretKey(key.String()), add)
		}
	}
}
