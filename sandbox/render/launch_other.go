//go:build !unix

package render

import "errors"

// installed returns where a browser is found: here it needs an address.
func installed() string { return "" }

func launch(string, int64, ...string) (wire, error) {
	return nil, errors.New("on this system, web.browser must be the address of a running browser")
}
