package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"fawn/sandbox/netguard"
	"fawn/web/api"
)

// maxWebhookAnswer limits the part of a response that is read to complete it properly.
const maxWebhookAnswer = 64 << 10

// postWebhook calls a webhook through the guard, which refuses private networks not opened by the owner.
func (a *App) postWebhook(ctx context.Context, to, run string, body []byte) (status int, err error) {
	u, err := url.Parse(to)
	if err != nil {
		return 0, errors.Join(api.ErrWebhookRefused, err)
	}
	limits := netguard.ClientLimits{Body: maxWebhookAnswer, Redirects: -1}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		limits.Ports = []int{port}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return 0, errors.Join(api.ErrWebhookRefused, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fawn/"+a.opts.Version)
	req.Header.Set("Idempotency-Key", run)
	guard := a.network.guard("webhooks.allow_private", a.config.Current().File.Webhooks.AllowPrivate)
	res, err := netguard.Client(guard, limits).Do(req)
	if err != nil {
		var refused *netguard.Refused
		if errors.As(err, &refused) || errors.Is(err, netguard.ErrURL) || errors.Is(err, netguard.ErrHost) {
			err = errors.Join(api.ErrWebhookRefused, err)
		}
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil && !errors.Is(err, netguard.ErrTooLarge) {
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	return res.StatusCode, nil
}
