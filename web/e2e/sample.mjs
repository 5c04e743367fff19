// An answer with everything in it that Markdown of models has.
export const code = {
  python: 'def f(x):\n    return x ** 2  # square\n', go: 'func main() {\n\tfmt.Println("**")\n}\n', js: 'const f = async () => `a${1}`;\n',
  rust: 'fn main() { let v: Vec<u8> = vec![]; }\n', sql: "SELECT * FROM t WHERE a = '|';\n", bash: 'for i in *.md; do echo "$i"; done\n',
  json: '{"a": [1, true, null]}\n', html: '<p class="x">a &amp; b</p>\n',
};
export const sample = [
  '# A first heading', '', 'Words with **bold**, *slanted*, `code`, ~~gone~~ and a [link](https://example.org/a_b?c=(d)) in one line.', '',
  '## A list', '', '- one', '- two with **bold**', '  - deep', '    - deeper', '1. first', '2. second', '',
  '| name | n | what |', '|:-----|--:|:----:|', '| a | 1 | `x` |', '| b | 22 | **y** |', '',
  ...Object.entries(code).flatMap(([lang, text]) => ['```' + lang, text + '```', '']),
  '- [x] done', '- [ ] open', '', '> A quote with *marks*', '> on two lines', '', 'A note[^1] at the end.', '', '[^1]: The note itself.', '',
  'Prices are $5 and $6. Sources: [citation:One](https://www.one.example/a) and [citation:Two](https://two.example/) and again [citation:One](https://www.one.example/a).', '',
].join('\n');
