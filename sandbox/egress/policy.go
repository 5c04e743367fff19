package egress

import (
	"fmt"
	"strings"

	"fawn/sandbox/netguard"
)

// Policy names the hosts that a sandbox may reach. A pattern is a host, or
// "*.suffix" for all names below suffix (not suffix itself), or "*" for every
// host; patterns are compared in the form that [Host] returns.
type Policy struct {
	// Packages opens PackageHosts.
	Packages bool
	// PackageHosts are the hosts of the owner's package managers, as
	// [PackageHosts] finds them. Over plain HTTP they take GET and HEAD only.
	PackageHosts []string
	// Allow opens hosts for everything.
	Allow []string
	// Deny closes hosts, even if Allow or the owner's answers open them.
	Deny []string
}

// Verdict is the decision about a connection.
type Verdict string

// The verdicts.
const (
	Allowed   Verdict = "allow"     // the connection was made
	Denied    Verdict = "deny"      // the policy or an answer denies it
	Asked     Verdict = "ask"       // undecided; refused until answered
	Forbidden Verdict = "refuse"    // the address, port, method or TLS name is never open
	Exhausted Verdict = "limit"     // the thread's budget is used up
	Failed    Verdict = "error"     // the other side could not be reached
	Malformed Verdict = "malformed" // the request was invalid
)

// Validate returns an error naming the first pattern that cannot match.
func (p Policy) Validate() error {
	_, err := p.compile()
	return err
}

// rules is a policy ready for matching.
type rules struct {
	deny, allow, packages patterns
}

func (p Policy) compile() (*rules, error) {
	var r rules
	var err error
	if r.deny, err = compile("deny", p.Deny); err != nil {
		return nil, err
	}
	if r.allow, err = compile("allow", p.Allow); err != nil {
		return nil, err
	}
	if p.Packages {
		if r.packages, err = compile("packages", p.PackageHosts); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

// patterns is a compiled list.
type patterns struct {
	exact map[string]bool
	below []string // with a leading dot
	all   bool
}

func compile(list string, words []string) (patterns, error) {
	p := patterns{exact: make(map[string]bool, len(words))}
	for _, word := range words {
		if word == "*" {
			p.all = true
			continue
		}
		suffix, wild := strings.CutPrefix(word, "*.")
		host, err := netguard.Host(suffix)
		switch {
		case err != nil:
			return patterns{}, fmt.Errorf("network.%s: %q is neither a host nor *.suffix: %w", list, word, err)
		case wild && netguard.IsAddress(host):
			return patterns{}, fmt.Errorf("network.%s: %q: an IP address can't have subdomains: %w", list, word,
				netguard.ErrHost)
		case wild:
			p.below = append(p.below, "."+host)
		default:
			p.exact[host] = true
		}
	}
	return p, nil
}

// match returns the pattern that covers a normalised host.
func (p patterns) match(host string) (string, bool) {
	if p.exact[host] {
		return host, true
	}
	if !netguard.IsAddress(host) {
		for _, suffix := range p.below {
			if strings.HasSuffix(host, suffix) {
				return "*" + suffix, true
			}
		}
	}
	return "*", p.all
}
