package offline

import (
	"context"
	"fmt"
	"strings"
)

// introduce is the answer to everything the rules cannot do.
func (m *Model) introduce(ctx context.Context, c *conversation) string {
	var env Environment
	if m.look != nil {
		env = m.look(ctx)
	}
	var b strings.Builder
	b.WriteString(c.pick(
		"I am Fawn's built-in offline model. I am not an AI: I follow fixed rules and cannot understand or answer free questions. "+
			"What I can do is compute: give me a CSV or TSV file and I describe it with a report and a chart; give me a text or Markdown file and I make an outline and pick its key sentences; write `run:` and a command, and I run it in the sandbox.\n\n"+
			"For real conversation, connect a model.",
		"我是 Fawn 内置的离线模型。我不是人工智能：我只按固定规则工作，无法理解或回答开放的问题。"+
			"我能做的是计算：给我一个 CSV 或 TSV 文件，我会写出统计报告并画图；给我一个文本或 Markdown 文件，我会列出大纲并摘出关键句；写 `run:` 加一条命令，我会在沙箱中运行它。\n\n"+
			"要真正对话，请连接一个模型。"))
	found := false
	for _, s := range env.Servers {
		if len(s.Models) == 0 {
			continue
		}
		found = true
		fmt.Fprintf(&b, c.pick("\n\nOn this machine %s is running at %s with: %s.", "\n\n本机正在运行 %s（%s），可用模型：%s。"),
			s.Name, s.BaseURL, inline(s.Models, 8))
	}
	if len(env.Keys) > 0 {
		found = true
		fmt.Fprintf(&b, c.pick("\n\nThe environment has a key in %s.", "\n\n环境变量中已有密钥：%s。"), inline(env.Keys, 12))
	}
	if !found && m.look != nil {
		b.WriteString(c.pick("\n\nI found no key in the environment and no model server on this machine.", "\n\n我没有在环境变量中找到密钥，也没有在本机找到模型服务。"))
	}
	b.WriteString(c.pick("\n\nAdd the model in Settings → Models, or write it into `config.yaml`:\n\n",
		"\n\n可以在 设置 → 模型 中添加，或写进 `config.yaml`：\n\n"))
	b.WriteString("```yaml\n" + example(env) + "```\n")
	return b.String()
}

// example is a models section that fits what was found.
func example(env Environment) string {
	for _, s := range env.Servers {
		if len(s.Models) > 0 {
			return fmt.Sprintf("models:\n  - name: %q\n    use: langchain_openai:ChatOpenAI\n    model: %q\n    base_url: %s\n", s.Models[0], s.Models[0], s.BaseURL)
		}
	}
	entry := func(name, model, base, key string) string {
		out := fmt.Sprintf("models:\n  - name: %s\n    use: langchain_openai:ChatOpenAI\n    model: %s\n", name, model)
		if base != "" {
			out += "    base_url: " + base + "\n"
		}
		return out + "    api_key: $" + key + "\n"
	}
	for _, k := range env.Keys {
		switch k {
		case "DEEPSEEK_API_KEY":
			return entry("deepseek", "deepseek-chat", "https://api.deepseek.com/v1", k)
		case "OPENROUTER_API_KEY":
			return entry("openrouter", "openrouter/auto", "https://openrouter.ai/api/v1", k)
		case "OPENAI_API_KEY":
			return entry("gpt", "gpt-4o", "", k)
		}
	}
	return entry("my-model", "gpt-4o", "https://api.openai.com/v1", "OPENAI_API_KEY")
}

// inline writes names as code, the first n of them.
func inline(names []string, n int) string {
	var out []string
	for i, name := range names {
		if i == n {
			out = append(out, fmt.Sprintf("… (+%d)", len(names)-n))
			break
		}
		out = append(out, "`"+strings.NewReplacer("`", "'", "\n", " ").Replace(name)+"`")
	}
	return strings.Join(out, ", ")
}
