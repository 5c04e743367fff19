package chat

// A ScanState tells how far a sign-in by QR code has come.
type ScanState string

// The states.
const (
	ScanWaits   ScanState = "pending"
	ScanSeen    ScanState = "scanned"
	ScanDigits  ScanState = "verification_required" // the app shows digits, which are to be entered
	ScanDone    ScanState = "confirmed"
	ScanExpired ScanState = "expired"
	ScanFailed  ScanState = "failed"
)

// Scanned tells the fate of a QR code.
type Scanned struct {
	State ScanState
	// Problem is network, invalid_response, verification_rejected, verification_blocked or already_bound; empty for
	// none.
	Problem string
	Keys    map[string]string // keys to configure, once signed in
}
