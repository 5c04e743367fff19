package pool

// CommonTests end each self test. They use nothing but bash.
const CommonTests = `
read -r word < <(echo ok) && [ "$word" = ok ] || miss process_substitution
for file in /proc/[0-9]*/environ; do
  while IFS= read -r -d '' word || [ -n "$word" ]; do
    [[ $word == SANDBOX_CANARY=* ]] && miss environment
  done 2>/dev/null < "$file"
done 2>/dev/null
echo done
`
