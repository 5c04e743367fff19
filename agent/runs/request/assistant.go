package request

import (
	"strings"

	"github.com/google/uuid"
)

// GraphID is the only graph; its name is accepted wherever an assistant is named.
const GraphID = "lead_agent"

// assistantSpace is the UUID namespace of LangGraph's assistant ids.
var assistantSpace = uuid.MustParse("6ba7b821-9dad-11d1-80b4-00c04fd430c8")

// LeadAssistant is the id of the graph's assistant, of which nothing is stored.
var LeadAssistant = uuid.NewSHA1(assistantSpace, []byte(GraphID)).String()

// BuiltIn reports whether an assistant id, a graph id or nothing names the graph's assistant.
func BuiltIn(id string) bool {
	return id == "" || id == GraphID || strings.EqualFold(id, LeadAssistant)
}
