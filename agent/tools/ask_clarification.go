package tools

import (
	"context"
	_ "embed" // the texts of the tools
	"encoding/json"
	"strings"

	"fawn/agent"
)

// AskClarification is the name of the tool that asks the user a question.
const AskClarification = "ask_clarification"

//go:embed ask_clarification.md
var askClarificationText string

const askClarificationSchema = `{"type":"object","required":["question","clarification_type"],"properties":{
"question":{"type":"string","description":"the one question, in the user's language"},
"clarification_type":{"type":"string","enum":["missing_info","ambiguous_requirement","approach_choice","risk_confirmation","suggestion"],"description":"why you ask"},
"context":{"type":"string","description":"what led to the question, in one or two sentences"},
"options":{"type":"array","items":{"type":"string"},"description":"likely answers, at most 24; the user can always write another one"},
"fields":{"type":"array","description":"for several values at once: the fields of a form, at most 16","items":{"type":"object","required":["name"],"properties":{
"name":{"type":"string","description":"short unique name"},
"label":{"type":"string","description":"what the user reads"},
"type":{"type":"string","enum":["text","textarea","number","select","multi_select","checkbox","date"]},
"required":{"type":"boolean"},
"options":{"type":"array","items":{"type":"string"},"description":"for select and multi_select"},
"placeholder":{"type":"string"}}}}}}`

// Clarification returns the tool by which a model asks the user. The stage of the same name answers its calls; without
// that stage the model is told that no user can answer.
func Clarification() *agent.Tool {
	return &agent.Tool{
		Name: AskClarification, Description: strings.TrimSpace(askClarificationText),
		Schema: json.RawMessage(askClarificationSchema),
		Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
			return agent.ErrorResult("Error: nobody can be asked here. Decide yourself and say what you assumed."), nil
		},
	}
}
