package api

import (
	"encoding/json"

	"fawn/agent/runs"
	"fawn/sandbox"
	"fawn/web/httpx"
	"fawn/web/route"
)

// takeSecrets moves a run's secrets out of its stored request before anything else reads it. No response contains a
// value.
func takeSecrets(req *runs.Request) error {
	req.SecretNames = nil // only the server sets them
	if err := req.TakeSecrets(); err != nil {
		return httpx.Invalid("body", "context.secrets", "%v", err)
	}
	for _, name := range req.SecretNames {
		if err := sandbox.ValidVariable(name); err != nil {
			return httpx.Invalid("body", "context.secrets", "%v", err)
		}
	}
	return nil
}

// storable checks options that are kept for later runs: objects within the limit of a
// message's text, without secrets.
func (a *API) storable(config, options json.RawMessage) error {
	req := runs.Request{Config: config, Context: options}
	for _, o := range []struct {
		field string
		raw   json.RawMessage
	}{{"config", config}, {"context", options}} {
		if max := a.Limits().MaxMessageBytes; int64(len(o.raw)) > max {
			return httpx.TooLarge(o.field, max, "server.max_message_bytes")
		}
		obj, err := route.Members(o.field, o.raw)
		if err != nil {
			return err
		}
		if route.Given(obj["secrets"]) != nil {
			return errSecrets(o.field)
		}
	}
	if err := takeSecrets(&req); err != nil {
		return err
	}
	if len(req.SecretNames) > 0 {
		return errSecrets("context")
	}
	return nil
}

func errSecrets(field string) error {
	return httpx.Invalid("body", field+".secrets", "secrets are never stored; send them with each run")
}
