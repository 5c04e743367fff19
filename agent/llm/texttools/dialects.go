package texttools

import (
	"slices"
	"strings"
	"sync"
)

// dialect is one format of calls in text: its opening and closing marks. Without closing marks, a call extends to the
// end of the answer.
type dialect struct {
	opening, closing []string
}

// dialects lists the forms in use. The text between two marks is recognised by its own form, see
// [reader.block]: models mix the marks of one family with the inside of another.
func dialects() []dialect {
	pair := func(open string, closing ...string) dialect { return dialect{[]string{open}, closing} }
	deepSeek := func(words ...string) (out []string) { // as tokenized, and as servers spell it
		for _, bar := range []string{"｜", "|"} {
			for _, gap := range []string{"▁", "_", " ", `\_`} {
				mark := "<" + bar
				for i, w := range words {
					if i > 0 {
						mark += gap
					}
					mark += w
				}
				out = append(out, mark+bar+">")
			}
		}
		return out
	}
	return []dialect{
		// Hermes, Qwen, Granite 4, SmolLM, MiMo; with other insides Qwen-Coder and GLM
		pair(callOpen, callClose),
		pair("<tool_calls>", "</tool_calls>"), // Jamba, Hunyuan, MiniMax M1
		pair("<function_call>", "</function_call>"),
		pair("<function_calls>", "</function_calls>"),
		pair("<minimax:tool_call>", "</minimax:tool_call>"),
		pair("<seed:tool_call>", "</seed:tool_call>"),
		pair("<longcat_tool_call>", "</longcat_tool_call>"),
		pair("<xai:function_call", "</xai:function_call>"), // Grok
		pair("<function=", "</function>"),                  // Llama, Functionary, Qwen-Coder without its frame
		pair("<TOOLCALL>", "</TOOLCALL>"),                  // Nemotron
		pair("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
		pair("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
		{deepSeek("tool", "calls", "begin"), deepSeek("tool", "calls", "end")},
		{deepSeek("tool", "call", "begin"), deepSeek("tool", "call", "end")},
		pair("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"), // Kimi
		pair("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
		pair("[TOOL_CALLS]"),                                                                    // Mistral
		pair("<|tool_call|>", "<|/tool_call|>", "<|end_of_text|>", "<|tool_call_end|>"),         // Granite 3, Phi 4
		pair("<|python_tag|>", "<|eom_id|>", "<|eot_id|>"),                                      // Llama 3
		pair("<|python_start|>", "<|python_end|>"),                                              // Llama 4
		pair("<|tool_call_start|>", "<|tool_call_end|>"),                                        // LFM
		pair("<|START_ACTION|>", "<|END_ACTION|>"),                                              // Command R
		pair("<|tools_prefix|>", "<|tools_suffix|>"),                                            // Apertus
		pair("<|action_start|>", "<|action_end|>"),                                              // InternLM
		pair("<|FunctionCallBegin|>", "<|FunctionCallEnd|>"),                                    // Doubao
		pair("<|tool_call:begin|>", "<|tool_call:end|>"),                                        // Solar
		pair("<start_function_call>", "<end_function_call>"),                                    // FunctionGemma
		pair("<|tool_calls_begin|>", "<|tool_calls_end|>"), pair("<tool_code>", "</tool_code>"), // others
		pair(asked, asked), // Functionary
		pair("<tool_use>", "</tool_use>"), pair("<|function_call|>", "<|/function_call|>", "<|im_end|>"),
	}
}

// asked precedes a tool's name, or "all" before text, in Functionary's format. It counts only before a name and an
// object, see [reader.addresses].
const asked = ">>>"

// Marks of the channels in which gpt-oss writes thoughts, calls and answers.
const (
	channelStart = "<|start|>"
	channelName  = "<|channel|>"
	channelBody  = "<|message|>"
)

// channelEnds returns the marks that end a channel's content.
func channelEnds() []string {
	return []string{"<|end|>", "<|call|>", "<|return|>", channelStart, channelName}
}

// Words of channels as they run into the text where a server leaves the marks out, see [unmarked].
const (
	channelRole = "assistant"
	channelTo   = " to="
)

// channelWords returns the words that start a channel.
func channelWords() []string { return []string{"analysis", "commentary", "final"} }

// channelTurns returns marks that begin another channel.
func channelTurns() []string {
	return []string{channelRole + "analysis", channelRole + "commentary", channelRole + "final", channelRole + channelTo}
}

// channelKinds stick to the name of a tool.
func channelKinds() []string { return []string{"json", "code", "commentary", "analysis"} }

// ends returns template marks without meaning for people: they are removed everywhere except in code and where the
// question mentions them.
func ends() []string {
	return []string{"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "<|return|>",
		"<|call|>", "<|end_of_turn|>", "<|endofturn|>", "<end_of_turn>", "<|END_OF_TURN_TOKEN|>", "<｜end▁of▁sentence｜>",
		"<|end▁of▁sentence|>", "<|end_of_sentence|>", "<｜begin▁of▁sentence｜>", "<|begin_of_text|>", "<|START_RESPONSE|>",
		"<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<|endofprompt|>", "<|eos|>", "<|role_end|>", "<|flow_end|>",
		"<|separator|>", "<|constrain|>", "<|fim_end|>", "<|end_of_role|>", "<|assistant_end|>", "<|eot|>", "<|eom|>",
		"<|turn_end|>", "<|im_sep|>", "<|end_header_id|>", "<|hy_eos|>", "<|startoftext|>", "<|assistant|>",
		"<｜Assistant｜>", "[|endofturn|]", "[EOS]", "<[EOS]>", "<|tool_calls_section_end|>", "<|tool_call_end|>",
		"<|tool_call_argument_begin|>", "<|im_assistant|>", "<|im_middle|>", "<|begin_of_box|>", "<|end_of_box|>"}
}

// lastEnds returns end marks with another meaning elsewhere: they are removed only at the very end.
func lastEnds() []string {
	return []string{"</s>", "<eos>", "<|user|>", "<|observation|>", "<｜User｜>", "<pad>", "<turn|>", "[/INST]", "</assistant>"}
}

// roles returns marks that start another speaker's message, before its name.
func roles() []string { return []string{"<|im_start|>", "<|start_header_id|>", "<|start_of_role|>"} }

// vocabulary is the set of marks a reader looks for.
type vocabulary struct {
	forms   []dialect
	opening []string // marks that open a call
	all     []string // marks of all kinds that may begin here
	first   [256]bool
}

// words is built when the first answer is read.
var words = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{forms: dialects()}
	for _, d := range v.forms {
		v.opening = append(v.opening, d.opening...)
	}
	v.all = slices.Concat(v.opening, ends(), lastEnds(), roles(),
		[]string{channelStart, channelName, channelBody, resultOpen})
	for _, m := range v.all {
		v.first[m[0]] = true
	}
	return v
})

// closing returns the marks that close an opening mark.
func (v *vocabulary) closing(open string) []string {
	for _, d := range v.forms {
		if slices.Contains(d.opening, open) {
			return d.closing
		}
	}
	return nil
}

// at returns the mark at the start of a text; maybe means that it is too short to decide.
func (v *vocabulary) at(text string) (mark string, maybe bool) {
	for _, m := range v.all {
		switch {
		case strings.HasPrefix(text, m):
			if len(m) > len(mark) {
				mark = m
			}
		case strings.HasPrefix(m, text):
			maybe = true
		}
	}
	return mark, maybe
}
