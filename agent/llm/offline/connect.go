package offline

import (
	"context"
	"fmt"
	"strings"
)

// introduce returns the answer to everything the rules cannot do.
func (m *Model) introduce(ctx context.Context, c *conversation) string {
	var env Environment
	if m.look != nil {
		env = m.look(ctx)
	}
	var b strings.Builder
	b.WriteString(c.pick(
		"I'm Fawn's built-in offline model. I'm not an AI: I follow fixed rules and can't understand or answer open questions. "+
			"What I can do is compute: give me a CSV or TSV file and I'll describe it in a report with a chart; give me a text or Markdown file and I'll outline it and pick the key sentences; type `run:` and a command and I'll run it in the sandbox.\n\n"+
			"For a real conversation, connect a model.",
		"我是 Fawn 内置的离线模型。我不是 AI，只按固定规则工作，无法理解或回答开放式问题。"+
			"我能做的是计算：给我一个 CSV 或 TSV 文件，我会生成统计报告和图表；给我一个文本或 Markdown 文件，我会列出大纲并摘出关键句；输入 `run:` 加一条命令，我会在沙箱中运行。\n\n"+
			"要进行真正的对话，请接入一个模型。"))
	found := false
	for _, s := range env.Servers {
		if len(s.Models) == 0 {
			continue
		}
		found = true
		fmt.Fprintf(&b, c.pick("\n\n%s is running on this machine at %s with: %s.", "\n\n本机正在运行 %s（%s），可用模型：%s。"),
			s.Name, s.BaseURL, inline(s.Models, 8))
	}
	if len(env.Keys) > 0 {
		found = true
		fmt.Fprintf(&b, c.pick("\n\nAPI keys found in the environment: %s.", "\n\n在环境变量中找到 API 密钥：%s。"),
			inline(env.Keys, 12))
	}
	if !found && m.look != nil {
		b.WriteString(c.pick("\n\nI found no API keys in the environment and no model server on this machine.",
			"\n\n没有在环境变量中找到 API 密钥，也没有在本机找到模型服务。"))
	}
	b.WriteString(c.pick("\n\nAdd a model in Settings → Models, or put it in `config.yaml`:\n\n",
		"\n\n可以在“设置 → 模型”中添加，也可以写入 `config.yaml`：\n\n"))
	b.WriteString("```yaml\n" + example(env) + "```\n")
	return b.String()
}

// example returns a models section for the discovered servers.
func example(env Environment) string {
	for _, s := range env.Servers {
		if len(s.Models) > 0 {
			return fmt.Sprintf("models:\n  - name: %q\n    use: langchain_openai:ChatOpenAI\n    model: %q\n    base_url: %s\n",
				s.Models[0], s.Models[0], s.BaseURL)
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
