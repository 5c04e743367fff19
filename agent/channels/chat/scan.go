package chat

// A ScanState is the progress of a sign-in by QR code.
type ScanState string

// The states.
const (
	ScanWaits   ScanState = "pending"
	ScanSeen    ScanState = "scanned"
	ScanDigits  ScanState = "verification_required" // the app shows digits for the user to enter
	ScanDone    ScanState = "confirmed"
	ScanExpired ScanState = "expired"
	ScanFailed  ScanState = "failed"
)

// Scanned is the outcome of a QR code.
type Scanned struct {
	State ScanState
	// Problem is network, invalid_response, verification_rejected, verification_blocked or already_bound; empty for
	// none.
	Problem string
	Keys    map[string]string // keys to configure, once signed in
}
