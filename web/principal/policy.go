package principal

// Policy says who may ask for a route. The zero value lets nobody in, so a route without a
// policy answers no one.
type Policy int

// The policies.
const (
	Nobody   Policy = iota
	Anyone          // also without an account
	User            // whoever has one; what belongs to others is not there
	Operator        // who runs the installation: it concerns everybody
)

// Admits tells whether the policy lets a principal in.
func (p Policy) Admits(who Principal) bool {
	return p == Anyone || p == User && who.Known() || p == Operator && who.Operator()
}
