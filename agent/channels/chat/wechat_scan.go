//go:build !nowechat

package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// WeChatScan signs an iLink bot in by a QR code scanned with WeChat.
type WeChatScan struct {
	c    *client
	own  string // address that needs no key
	code string
	past ScanState
}

const weChatLook = 10 * time.Second // long poll; WeChat answers when something happens

// weChatState is the stored state of a sign-in.
type weChatState struct {
	Code string
	Past ScanState
	Base string // address WeChat redirected to; empty for the initial one
}

// NewWeChatScan starts a sign-in or resumes one from its state. It makes no calls.
func NewWeChatScan(o Options, state json.RawMessage) (*WeChatScan, error) {
	c, err := newClient(o, "https://ilinkai.weixin.qq.com", []string{".weixin.qq.com"})
	if err != nil {
		return nil, err
	}
	w := &WeChatScan{c: c, own: c.base, past: ScanWaits}
	if state == nil {
		return w, nil
	}
	var was weChatState
	if err := json.Unmarshal(state, &was); err != nil || was.Code == "" || was.Base != "" && !w.move(was.Base) {
		return nil, errors.Join(errors.New("this sign-in can't continue"), err)
	}
	w.code, w.past = was.Code, was.Past
	w.c.hide(w.code)
	return w, nil
}

// State returns the state from which [NewWeChatScan] can resume.
func (w *WeChatScan) State() json.RawMessage {
	was := weChatState{Code: w.code, Past: w.past}
	if w.c.base != w.own {
		was.Base = w.c.base
	}
	body, _ := json.Marshal(was) // strings always encode
	return body
}

func (w *WeChatScan) get(ctx context.Context, method string, query url.Values, into any) error {
	return w.c.do(ctx, call{op: method, method: http.MethodGet, path: "/ilink/bot/" + method + "?" + query.Encode(),
		header: http.Header{"Ilink-App-Clientversion": {"1"}}, limit: weChatLook}, into)
}

// Code returns the text encoded in the QR code.
func (w *WeChatScan) Code(ctx context.Context) (string, error) {
	var r struct {
		weChatReply
		ID   string `json:"qrcode"`
		Text string `json:"qrcode_img_content"`
	}
	if err := w.get(ctx, "get_bot_qrcode", url.Values{"bot_type": {"3"}}, &r); err != nil {
		return "", err
	}
	if code := cmp.Or(r.Code, r.Ret); code != 0 {
		return "", &Refused{Reason: "WeChat gives no QR code (" + strconv.Itoa(code) + ")."}
	}
	if w.code = strings.TrimSpace(r.ID); w.code == "" || r.Text == "" || len(r.Text) > 2048 {
		return "", &Refused{Reason: "WeChat gave no QR code."}
	}
	w.c.hide(w.code)
	return strings.TrimSpace(r.Text), nil
}

// Poll waits briefly for progress. digits is the code shown by the app. Calls must not overlap.
func (w *WeChatScan) Poll(ctx context.Context, digits string) Scanned {
	var r struct {
		Status   string `json:"status"`
		Token    string `json:"bot_token"`
		Bot      string `json:"ilink_bot_id"`
		Base     string `json:"baseurl"`
		Redirect string `json:"redirect_host"`
	}
	query := url.Values{"qrcode": {w.code}}
	if digits != "" {
		query.Set("verify_code", digits)
	}
	if err := w.get(ctx, "get_qrcode_status", query, &r); err != nil {
		return w.failed(err)
	}
	failed := func(why string) Scanned { return Scanned{State: ScanFailed, Problem: why} }
	switch strings.ToLower(r.Status) {
	case "wait", "pending":
	case "scaned", "scanned":
		w.past = ScanSeen
	case "scaned_but_redirect":
		if !w.move("https://" + r.Redirect) {
			return failed("invalid_response")
		}
		w.past = ScanSeen
	case "need_verifycode":
		w.past = ScanDigits
		if digits != "" {
			return Scanned{State: ScanDigits, Problem: "verification_rejected"}
		}
	case "confirmed":
		if r.Token = strings.TrimSpace(r.Token); r.Token == "" || r.Base != "" && !w.move(r.Base) {
			return failed("invalid_response")
		}
		keys := map[string]string{"bot_token": r.Token}
		if r.Bot != "" {
			keys["ilink_bot_id"] = r.Bot
		}
		if w.c.base != w.own {
			keys["base_url"] = w.c.base
		}
		return Scanned{State: ScanDone, Keys: keys}
	case "expired":
		return Scanned{State: ScanExpired}
	case "binded_redirect":
		return failed("already_bound")
	case "verify_code_blocked":
		return failed("verification_blocked")
	case "canceled", "cancelled", "invalid", "failed":
		return failed("")
	default:
		return failed("invalid_response")
	}
	return Scanned{State: w.past}
}

// failed returns an unsuccessful poll. A timeout only means no news.
func (w *WeChatScan) failed(err error) Scanned {
	s, status := errors.AsType[*statusError](err)
	_, unread := errors.AsType[*callError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Scanned{State: w.past}
	case status && (s.Status >= 500 || s.Status == http.StatusTooManyRequests), unread, rateOf(err) != nil:
		return Scanned{State: w.past, Problem: "network"}
	}
	return Scanned{State: ScanFailed, Problem: "invalid_response"}
}

// move switches to another address of WeChat.
func (w *WeChatScan) move(address string) bool {
	address = strings.TrimRight(address, "/")
	u, err := url.Parse(address)
	if err != nil || u.Path != "" || u.RawQuery != "" || u.User != nil || safeURL(address) != nil ||
		w.c.ownHost(address) != nil {
		return false
	}
	w.c.base = address
	return true
}
