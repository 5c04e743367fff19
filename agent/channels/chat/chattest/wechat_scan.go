package chattest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// WeChatDigits are in the app when a code needs verification.
const WeChatDigits = "4711"

// Scan makes the phone act on the last QR code, one action per poll: "scaned", "need_verifycode", "confirmed",
// "expired" or another status of iLink's. "elsewhere" confirms and names a host that isn't WeChat's.
func (f *WeChat) Scan(statuses ...string) {
	f.state.do(func() { f.scans = append(f.scans, statuses...) })
}

func (f *WeChat) scan(w http.ResponseWriter, r *http.Request) {
	s := &f.state
	method, query := r.PathValue("method"), r.URL.Query()
	fault := s.fault(method)
	if fault.Kind == Broken {
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	}
	if r.Header.Get("Authorization") != "" || r.Header.Get("iLink-App-ClientVersion") != "1" {
		s.errorf("%s with the headers %v", method, r.Header)
	}
	var out map[string]any
	switch method {
	case "get_bot_qrcode":
		if query.Get("bot_type") != "3" {
			s.errorf("the kind of bot is %q", query.Get("bot_type"))
		}
		s.do(func() { f.code = "qr-" + strconv.Itoa(s.id()) })
		out = map[string]any{"ret": 0, "qrcode": f.code,
			"qrcode_img_content": "https://liteapp.weixin.qq.com/q/7GiQu1?qrcode=" + f.code + "&bot_type=3"}
	case "get_qrcode_status":
		out = f.scanned(r.Context(), query.Get("qrcode"), query.Get("verify_code"))
	default:
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(out)
}

// scanned responds once there is progress, or reports that there is none.
func (f *WeChat) scanned(ctx context.Context, code, digits string) map[string]any {
	s := &f.state
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	s.wait(ctx, func() bool { return len(f.scans) > 0 })
	status := "wait"
	s.do(func() {
		switch {
		case code != f.code:
			status = "expired"
		case len(f.scans) == 0:
		case f.scans[0] == "need_verifycode" && digits == WeChatDigits:
			status, f.scans = "scaned", f.scans[1:]
		case f.scans[0] == "need_verifycode": // repeats until the digits are right
			status = f.scans[0]
		default:
			status, f.scans = f.scans[0], f.scans[1:]
		}
	})
	out := map[string]any{"ret": 0, "status": status}
	if status == "confirmed" || status == "elsewhere" {
		out["status"], out["bot_token"], out["ilink_bot_id"] = "confirmed", WeChatToken, "b1a2c3d4e5@im.bot"
		out["ilink_user_id"] = "o9cq80_ada@im.wechat"
	}
	switch status {
	case "elsewhere":
		out["baseurl"] = "https://example.org"
	case "scaned_but_redirect":
		out["redirect_host"] = "example.org"
	}
	return out
}
