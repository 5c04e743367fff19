package api

import (
	"strings"

	"fawn/web/api/wire"
	"fawn/web/httpx"
	"fawn/web/route"
)

// parseModes reads mode names. None at all means values; an unknown one is a 422.
func parseModes(names []string) (wire.Modes, error) {
	if len(names) == 0 {
		return wire.ModeValues, nil
	}
	var set wire.Modes
	for _, name := range names {
		one := wire.ModeOf(name)
		if one == 0 {
			return 0, httpx.Invalid("body", "stream_mode", "unknown mode %q (want %s)", route.Cut(name, 40),
				strings.Join(wire.ModeNames(), ", "))
		}
		set |= one
	}
	return set, nil
}
