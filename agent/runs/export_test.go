package runs

import (
	"context"
	"fmt"
	"reflect"

	"fawn/agent"
	"fawn/agent/runs/eventlog"
	"fawn/store"
)

// Held is how many threads and runs the manager remembers.
func (m *Manager) Held() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.threads) + len(m.runs)
}

// LogMemory is the memory of a live run's log in bytes.
const LogMemory = eventlog.Memory

// Dropped tells whether the run's live log has let go of old events.
func (m *Manager) Dropped(run string) bool {
	l := m.log(run)
	return l != nil && l.Dropped() > 0
}

// MaxDecoded bounds the bytes of messages kept decoded.
const MaxDecoded = maxDecoded

// DecodedBytes is what the messages kept decoded count for.
func (m *Manager) DecodedBytes() (bytes, threads int) {
	ids, bytes := m.decoded.Threads()
	return bytes, len(ids)
}

// DecodedAsStored compares each message kept decoded, and still good, with what its row holds.
func (m *Manager) DecodedAsStored(ctx context.Context) error {
	ids, _ := m.decoded.Threads()
	for _, thread := range ids {
		now, err := m.db.SnapshotOf(ctx, store.Checkpoint{Thread: thread})
		if err != nil {
			return err
		}
		messages, card := m.decoded.Of(thread, now.Incarnation), store.Card{}
		for n := range messages {
			card.Messages = append(card.Messages, store.Range{From: n, To: n})
		}
		snap, err := m.db.SnapshotOf(ctx, store.Checkpoint{Thread: thread, Card: card})
		if err != nil {
			return err
		}
		for _, row := range snap.Messages {
			fresh, err := agent.ParseMessage(row.Body)
			if err != nil {
				return err
			}
			if !reflect.DeepEqual(fresh, messages[row.N].Message) {
				return fmt.Errorf("thread %s: message %d is kept as %+v, stored as %s", thread, row.N,
					messages[row.N].Message, row.Body)
			}
		}
	}
	return nil
}

// Draining says that the manager takes no runs any more.
func (m *Manager) Draining() bool { return m.drains() }
