package chat

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"
)

const (
	dingTalkCard   = "card:"   // before the id of a card that we chose
	dingTalkAnswer = "content" // the variable of the template that holds the answer
)

// cards sets the limits for answers in cards. Updates of cards don't count as messages.
func (d *DingTalk) cards(l *Limits) {
	l.CanEdit, l.Ends, l.MayStay = true, true, true
	l.EditEvery, l.GroupEditEvery = 1500*time.Millisecond, 1500*time.Millisecond
	l.Chat, l.Group = Bucket{60, time.Minute}, Bucket{60, time.Minute}
}

// card posts an AI card. Each has its own id, even when the call is repeated: whether DingTalk posts a card twice under
// one id is undocumented.
func (d *DingTalk) card(ctx context.Context, to Address, p Post) (Ref, error) {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	track := "fawn-" + hex.EncodeToString(id[:])
	body := map[string]any{"cardTemplateId": d.cfg.CardTemplate, "outTrackId": track, "callbackType": "STREAM",
		"cardData":              map[string]any{"cardParamMap": map[string]string{dingTalkAnswer: d.render(p)}},
		"imGroupOpenSpaceModel": map[string]bool{"supportForward": true},
		"imRobotOpenSpaceModel": map[string]bool{"supportForward": true}}
	if person, private := strings.CutPrefix(to.Chat, dingTalkPerson); private {
		body["openSpaceId"] = "dtv1.card//IM_ROBOT." + person
		body["imRobotOpenDeliverModel"] = map[string]string{"spaceType": "IM_ROBOT"}
	} else {
		body["openSpaceId"] = "dtv1.card//IM_GROUP." + to.Chat
		body["imGroupOpenDeliverModel"] = map[string]string{"robotCode": d.cfg.ClientID}
	}
	var r struct {
		Result struct {
			Delivered []struct {
				OK    bool   `json:"success"`
				Error string `json:"errorMsg"`
			} `json:"deliverResults"`
		} `json:"result"`
	}
	if err := d.call(ctx, "card", "/v1.0/card/instances/createAndDeliver", body, &r); err != nil {
		return Ref{}, stays(err)
	}
	for _, one := range r.Result.Delivered {
		if !one.OK {
			return Ref{}, &Stays{"card: " + cmp.Or(d.c.redact(one.Error), "it was not delivered")}
		}
	}
	return Ref{to, dingTalkCard + track}, nil
}

// Edit replaces the text of a card. Messages cannot be edited.
func (d *DingTalk) Edit(ctx context.Context, at Ref, p Post) error {
	track, ok := strings.CutPrefix(at.Message, dingTalkCard)
	if !ok {
		return &Refused{Reason: "Messages of DingTalk's robots stay as they are."}
	}
	var id [16]byte
	_, _ = rand.Read(id[:])
	body := map[string]any{"outTrackId": track, "guid": hex.EncodeToString(id[:]), "key": dingTalkAnswer,
		"content": d.render(p), "isFull": true, "isFinalize": p.Final, "isError": false}
	err := d.put(ctx, "/v1.0/card/streaming", body)
	if _, refused := errors.AsType[*Refused](err); refused && p.Final {
		// it may have ended before a crash, and then accepts no more of the stream
		err = d.put(ctx, "/v1.0/card/instances", map[string]any{"outTrackId": track,
			"cardData":          map[string]any{"cardParamMap": map[string]string{dingTalkAnswer: d.render(p)}},
			"cardUpdateOptions": map[string]bool{"updateCardDataByKey": true}})
	}
	return stays(err)
}

func (d *DingTalk) put(ctx context.Context, path string, body any) error {
	return d.signed(ctx, call{op: "card", method: http.MethodPut, path: path, body: body}, nil)
}

// stays maps an error of a card: if DingTalk refuses cards for good, for instance because the template is missing, the
// app may not use cards or the card was deleted, the text is sent as a message.
func stays(err error) error {
	refused, never := errors.AsType[*Refused](err)
	fatal, ended := errors.AsType[*Fatal](err)
	switch {
	case never:
		return &Stays{refused.Reason}
	case ended:
		return &Stays{fatal.Reason}
	}
	return err
}
