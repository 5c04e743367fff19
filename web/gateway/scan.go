package gateway

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/channels"
	"fawn/agent/channels/qrlogin"
	"fawn/web/bots"
	"fawn/web/httpx"
	"fawn/web/route"
)

// onScan is onProvider for WeChat, the one app that has sign-ins by QR code.
func (g *Gateway) onScan(do func(echo.Context, channels.Provider) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		p, known := channels.ProviderOf("wechat")
		if !known || !g.Channels.Available() {
			return httpx.Errorf(http.StatusBadRequest, noChannels)
		}
		c.Response().Header().Set("Cache-Control", "no-store")
		return do(c, p)
	}
}

// scanJSON is a sign-in by QR code.
type scanJSON struct {
	Error     *string       `json:"error"`
	ExpiresIn int           `json:"expires_in"` // seconds
	ID        string        `json:"id"`
	Provider  *providerView `json:"provider"` // once it is confirmed
	Code      string        `json:"qrcode_content"`
	Status    string        `json:"status"`
}

// answerScan answers in DeerFlow's shape.
func (g *Gateway) answerScan(c echo.Context, p channels.Provider, s qrlogin.Scan) error {
	out := scanJSON{Error: orNull(s.Problem), ExpiresIn: max(0, int(s.Until.Sub(g.DB.Now()).Seconds())), ID: s.ID,
		Code: s.Code, Status: string(s.State)}
	if s.State == "confirmed" {
		v, err := g.viewProvider(c, p)
		if err != nil {
			return err
		}
		out.Provider = &v
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// refusedScan maps errors of a sign-in to DeerFlow's statuses.
func refusedScan(err error) error {
	var no *bots.Refused
	switch {
	case errors.Is(err, qrlogin.ErrNoScan):
		return httpx.Errorf(http.StatusNotFound, "WeChat QR login session not found. Start again.")
	case errors.Is(err, qrlogin.ErrScanning):
		return httpx.Errorf(http.StatusConflict, "Another administrator is connecting WeChat. Try again later.")
	case errors.As(err, &no) && no.Cause == bots.Failing:
		return httpx.Errorf(http.StatusBadGateway, "%s", no.Error())
	}
	return refusedChannel(err)
}

func (g *Gateway) startScan(c echo.Context, p channels.Provider) error {
	s, err := g.Channels.StartScan(c.Request().Context(), g.Owner(c), p)
	if err != nil {
		return refusedScan(err)
	}
	return g.answerScan(c, p, s)
}

// scanBody is the body of pollScan.
type scanBody struct {
	Digits string `json:"verify_code"`
}

func (g *Gateway) pollScan(c echo.Context) error {
	var b scanBody
	body, err := httpx.Body(c.Request(), g.BodyLimit())
	if err != nil {
		return err
	}
	if len(body) > 0 {
		if err := httpx.DecodeStrict(body, &b); err != nil {
			return err
		}
	}
	if !bots.Digits(b.Digits) {
		return httpx.Errorf(http.StatusBadRequest, "Enter the digits shown in WeChat.")
	}
	return g.onScan(func(c echo.Context, p channels.Provider) error {
		s, err := g.Channels.PollScan(c.Request().Context(), g.Owner(c), p, route.Param(c, "sid"), b.Digits)
		if err != nil {
			return refusedScan(err)
		}
		return g.answerScan(c, p, s)
	})(c)
}

func (g *Gateway) cancelScan(c echo.Context, _ channels.Provider) error {
	if err := g.Channels.Hub.Scans().Cancel(c.Request().Context(), g.Owner(c), route.Param(c, "sid")); err != nil {
		return refusedScan(err)
	}
	return c.NoContent(http.StatusNoContent)
}
