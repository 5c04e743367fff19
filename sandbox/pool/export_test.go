package pool

import "fawn/sandbox"

// Keep writes pieces to what keeps the beginning and the end of an output.
func Keep(chars int, pieces ...[]byte) (text []byte, truncated bool) {
	k := newKeeper(chars)
	for _, p := range pieces {
		_, _ = k.Write(p)
	}
	return k.text(k.chars)
}

// Merge passes pieces that begin with the number of their output, 0 or 1, or are only that
// number at its end, through a pump, and returns what is shown and what each output keeps.
func Merge(secrets map[string]string, pieces ...string) (shown, out, errs string) {
	u, ends, err := newPump(nil,
		sandbox.ExecReq{Secrets: secrets, OnOutput: func(_ sandbox.Stream, p []byte) { shown += string(p) }},
		sandbox.Policy{StreamBytes: 1 << 20})
	if err != nil {
		return err.Error(), "", ""
	}
	for i, s := range u.streams {
		_ = s.r.Close()
		_ = ends[i].Close()
	}
	for _, p := range pieces {
		u.take(u.streams[p[0]-'0'], []byte(p[1:]), len(p) == 1)
		u.flush()
	}
	u.merge(nil, true)
	a, b, _ := u.texts()
	return shown, string(a), string(b)
}

// Mask passes pieces through what masks secrets.
func Mask(secrets map[string]string, pieces ...[]byte) []byte {
	r := newReplacer(secrets)
	var out []byte
	for _, p := range pieces {
		out = append(out, r.next(p, false)...)
	}
	return append(out, r.next(nil, true)...)
}
