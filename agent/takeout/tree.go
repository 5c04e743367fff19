package takeout

// branch returns the path from the root of a message tree to leaf, and the number of other leaves. parents has every
// message with its parent. Cycles are cut.
func branch(parents map[string]string, leaf string) (way []string, others int) {
	inner, seen := map[string]bool{}, map[string]bool{}
	for _, p := range parents {
		inner[p] = true
	}
	for id := range parents {
		if !inner[id] && id != leaf {
			others++
		}
	}
	for id := leaf; id != "" && !seen[id]; id = parents[id] {
		if _, there := parents[id]; !there {
			break
		}
		seen[id] = true
		way = append(way, id)
	}
	for i, j := 0, len(way)-1; i < j; i, j = i+1, j-1 {
		way[i], way[j] = way[j], way[i]
	}
	return way, others
}

// say adds a message, or continues the previous answer.
func (c *Conversation) say(m Message) {
	if m.Text == "" && len(m.Files) == 0 {
		return
	}
	if n := len(c.Messages); n > 0 && !m.Human && !c.Messages[n-1].Human {
		last := &c.Messages[n-1]
		if last.Text != "" && m.Text != "" {
			last.Text += "\n\n"
		}
		last.Text += m.Text
		last.Files = append(last.Files, m.Files...)
		if m.Model != "" {
			last.Model = m.Model
		}
		return
	}
	c.Messages = append(c.Messages, m)
}
