package views

// Question is something the agent asked and ended its run for: a card where the answer
// would be. The reader's next message answers it.
type Question struct {
	ID       string // id of the tool message, which the answer refers to
	ThreadID string
	Kind     string // missing_info, ambiguous_requirement, approach_choice, risk_confirmation or suggestion
	Text     string
	Context  string   // why it is asked; may be empty
	Options  []Choice // choices, in addition to free text
	Fields   []Field  // a form; without options
	Open     bool     // it can be answered now
	Answer   string   // the answer, if known
}

// Choice is one of several answers.
type Choice struct {
	ID    string // id sent by the form
	Label string // displayed text
	Value string // text sent when chosen
}

// Field is one input of a question's form.
type Field struct {
	Name        string // name passed to the model
	Label       string
	Type        string // text, textarea, number, select, multi_select, checkbox or date
	Required    bool
	Placeholder string
	Values      []string // initially selected choices of a multi_select
	Value       string   // initial value; of a select the Value of a choice, "true" ticks a checkbox
	Options     []Choice
}

// TodoState is the progress of a plan's item.
type TodoState string

// The states of an item; the values are class names.
const (
	TodoOpen TodoState = "wait"
	TodoWork TodoState = "run"
	TodoDone TodoState = "done"
)

// Todo is an item of the agent's plan.
type Todo struct {
	ID    string // "" if it can't be changed
	Text  string
	State TodoState
}
