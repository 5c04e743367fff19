package sandbox

import "strings"

// commonTests end each self test. They use nothing but bash.
const commonTests = `
read -r word < <(echo ok) && [ "$word" = ok ] || miss process_substitution
for file in /proc/[0-9]*/environ; do
  while IFS= read -r -d '' word || [ -n "$word" ]; do
    [[ $word == SANDBOX_CANARY=* ]] && miss environment
  done 2>/dev/null < "$file"
done 2>/dev/null
echo done
`

// tested notes what a self test found missing, or why there was none.
func (r *Report) tested(missed []string, err error) {
	switch {
	case err != nil:
		r.Reason, r.Step, r.Detail = "self_test", "self_test", err.Error()
	case len(missed) > 0:
		r.Reason, r.Step = "self_test:"+strings.Join(missed, ","), "self_test"
	}
}

// built notes the layers of a sandbox, and those that are weaker than they could be.
func (r *Report) built(layers []string) {
	for _, l := range layers {
		if name, ok := strings.CutPrefix(l, "DEGRADED:"); ok {
			r.Degraded = append(r.Degraded, name)
		} else {
			r.Layers = append(r.Layers, l)
		}
	}
}
