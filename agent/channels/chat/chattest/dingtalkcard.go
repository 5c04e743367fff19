package chattest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// DingTalkTemplate is the template of AI cards that DingTalk's app has.
const DingTalkTemplate = "382e4302-551d-4880-bf29-a30acfab2e71.schema"

// card is an AI card, which takes a stream until it has ended.
type card struct {
	where string
	ended bool
}

type dingTalkCall struct {
	CardTemplateID, OutTrackID, CallbackType, OpenSpaceID string
	GUID, Key, Content                                    string
	IsFull, IsFinalize, IsError                           bool
	CardData                                              struct{ CardParamMap map[string]string }
	CardUpdateOptions                                     struct{ UpdateCardDataByKey bool }
	ImRobotOpenDeliverModel                               struct{ SpaceType, RobotCode string }
	ImGroupOpenDeliverModel                               struct{ RobotCode string }
	ImRobotOpenSpaceModel, ImGroupOpenSpaceModel          *struct{ SupportForward bool }
}

// Open counts cards that show something and still take a stream.
func (f *DingTalk) Open() (n int) {
	f.state.mu.Lock()
	defer f.state.mu.Unlock()
	for id, c := range f.cards {
		if m := f.state.find(c.where, "card:"+id); m != nil && m.Text != "…" && !c.ended {
			n++
		}
	}
	return n
}

func (f *DingTalk) card(r *http.Request, op string) (result any, failure string) {
	var c dingTalkCall
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		f.state.errorf("a card: %v", err)
		return nil, "bad"
	}
	f.state.do(func() {
		switch op {
		case "card":
			result, failure = f.createCard(c)
		case "edit":
			failure = f.stream(c)
			result = map[string]any{"success": true, "result": true}
		default:
			failure = f.cardData(c)
			result = map[string]any{"success": true, "result": true}
		}
	})
	return result, failure
}

func (f *DingTalk) createCard(c dingTalkCall) (any, string) {
	s := &f.state
	where, private := strings.CutPrefix(c.OpenSpaceID, "dtv1.card//IM_ROBOT.")
	group, many := strings.CutPrefix(c.OpenSpaceID, "dtv1.card//IM_GROUP.")
	text := c.CardData.CardParamMap["content"]
	switch {
	case c.CardTemplateID != DingTalkTemplate:
		return nil, "param.templateNotExist"
	case c.OutTrackID == "" || f.cards[c.OutTrackID] != nil:
		s.errorf("a card with the id %q", c.OutTrackID)
		return nil, "param.outTrackId"
	case text == "" || c.CallbackType != "STREAM" || c.ImRobotOpenSpaceModel == nil ||
		c.ImGroupOpenSpaceModel == nil:
		s.errorf("a card of %+v", c)
		return nil, "param.error"
	case private && c.ImRobotOpenDeliverModel.SpaceType == "IM_ROBOT":
		where = f.Chat(where)
	case many && c.ImGroupOpenDeliverModel.RobotCode == DingTalkClient:
		where = group
	default:
		return nil, "param.openSpaceId"
	}
	f.cards[c.OutTrackID] = &card{where: where}
	s.shown[where] = append(s.shown[where], &Shown{ID: "card:" + c.OutTrackID, Text: text, Rich: true})
	return map[string]any{"success": true, "result": map[string]any{"outTrackId": c.OutTrackID,
		"deliverResults": []any{map[string]any{"spaceId": c.OpenSpaceID, "success": true, "errorMsg": ""}}}}, ""
}

func (f *DingTalk) stream(c dingTalkCall) string {
	one := f.cards[c.OutTrackID]
	switch {
	case one == nil:
		return "param.outTrackIdNotExist"
	case one.ended:
		return "param.cardFinished"
	case c.GUID == "" || f.guids[c.GUID] || c.Key != "content" || !c.IsFull || c.IsError || c.Content == "":
		f.state.errorf("a stream of %+v", c)
		return "param.error"
	}
	f.guids[c.GUID] = true
	one.ended = c.IsFinalize
	f.show(one, c.OutTrackID, c.Content)
	return ""
}

// cardData replaces the content of a card, finished or not.
func (f *DingTalk) cardData(c dingTalkCall) string {
	one := f.cards[c.OutTrackID]
	if one == nil {
		return "param.outTrackIdNotExist"
	}
	if !c.CardUpdateOptions.UpdateCardDataByKey || c.CardData.CardParamMap["content"] == "" {
		f.state.errorf("data of a card %+v", c)
	}
	f.show(one, c.OutTrackID, c.CardData.CardParamMap["content"])
	return ""
}

func (f *DingTalk) show(one *card, id, text string) {
	if len(text) > 20000 {
		f.state.errorf("a card of %d bytes", len(text))
	}
	m := f.state.find(one.where, "card:"+id)
	m.Text = text
	m.Edits++
}
