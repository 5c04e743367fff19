package syntax

// Origin is the place where a value was written.
type Origin struct {
	Source   string // name of the file, "environment" for a value that came through a variable, or "default"
	Line     int    // line of the file that names the value or its variable; 0 when unknown
	Variable string // the variable named there, if any
	From     string // source of the variable: "environment", "secrets.env", ".env"; empty = unset
}
