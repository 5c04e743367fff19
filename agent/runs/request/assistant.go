package request

import "github.com/google/uuid"

// assistantSpace is the namespace in which LangGraph derives ids of its own assistants.
var assistantSpace = uuid.MustParse("6ba7b821-9dad-11d1-80b4-00c04fd430c8")

// LeadAssistant is the id of the built-in assistant, derived from the name of its graph. Nothing is stored of it.
var LeadAssistant = uuid.NewSHA1(assistantSpace, []byte("lead_agent")).String()
